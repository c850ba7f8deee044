package import LarderJSON

/// Irregularities of an answer that the rules did not expect, for operators.
package struct SplitReport: Equatable, Sendable {
    /// Objects that are entities by their type or place, and have no key: they stay in what holds
    /// them.
    package internal(set) var keylessCount = 0
    /// Position of the first such object.
    package internal(set) var keylessSample: JSONPointer?
    /// Entities with a repeated name whose values have different bytes; the last value counts.
    package internal(set) var repeatedCount = 0

    package init() {}
}

/// Why an answer is stored as it came.
package enum WholeReason: Equatable, Sendable {
    case notJSON(JSONError)
    /// The answer has no entity, so there is nothing to share.
    case noEntity
    /// The answer has more bytes than the limit.
    case tooLarge
    case tooDeep
    case tooManyValues
    /// More entities within each other than are rebuilt.
    case entitiesTooDeep
    /// The template would be far too large in proportion to the answer.
    case templateTooLarge

    /// A sentence for people, without a full stop.
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

/// Result of splitting an answer.
package enum SplitOutcome: Sendable {
    case whole(WholeReason, SplitReport)
    case split(Split)
}
