/// Why a modifier was settled without being confirmed.
package enum ModifierReason: String, Sendable, CaseIterable {
    /// All allowed attempts failed.
    case attempts
    /// The moment before which it was to be sent has passed.
    case expired
    /// The origin refused the modifier permanently.
    case refused
    /// Another device had changed what the modifier changes.
    case conflict
    /// A modifier that it depends on was not confirmed.
    case parentFailed = "parent_failed"
    /// The row cannot be read, or holds a value that only a later version knows.
    case unreadable
    /// A client gave the modifier up after bytes of it may have left.
    case discarded
    /// A client gave the modifier up before any byte of it left.
    case cancelled
}
