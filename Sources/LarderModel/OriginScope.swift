/// Whose an origin's answers are, where their client has used no credential of its own.
package enum OriginScope: String, CaseIterable, Sendable {
    /// Each account of each user has its own.
    case user
    /// They are asked for once, kept once, and seen by everybody.
    case shared
}
