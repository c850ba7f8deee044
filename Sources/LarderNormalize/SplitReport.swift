package import LarderJSON

/// What about an answer the rules did not expect, for people to look at.
package struct SplitReport: Equatable, Sendable {
    /// Objects that are entities by their type or place, and have no key: they stay in what holds
    /// them.
    package internal(set) var keylessCount = 0
    /// Where the first one stands.
    package internal(set) var keylessSample: JSONPointer?
    /// Entities in which a name stands twice with values that are not written alike; the last counts.
    package internal(set) var repeatedCount = 0

    package init() {}
}

/// Why an answer is stored as it came.
package enum WholeReason: Equatable, Sendable {
    case notJSON(JSONError)
    /// It has no entity, so there is nothing to share.
    case noEntity
    /// It has more bytes than are taken.
    case tooLarge
    case tooDeep
    case tooManyValues
    /// More entities within each other than are rebuilt.
    case entitiesTooDeep
    /// What its slots would have to remember beside its bytes is out of all proportion to them.
    case templateTooLarge

    /// One sentence for people, without a full stop.
    package var message: String {
        switch self {
        case .notJSON(let error): error.message
        case .noEntity: "none of its objects is an entity by the origin's rules"
        case .tooLarge: "it is too large to be normalized"
        case .tooDeep: "its arrays and objects are nested too deeply to be normalized"
        case .tooManyValues: "it has too many values to be normalized"
        case .entitiesTooDeep: "its entities are nested too deeply to be rebuilt"
        case .templateTooLarge: "its entities differ too much from place to place"
        }
    }
}

/// What became of an answer.
package enum SplitOutcome: Sendable {
    case whole(WholeReason, SplitReport)
    case split(Split)
}
