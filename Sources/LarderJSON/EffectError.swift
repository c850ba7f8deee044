import LarderModel

/// Why a value is not an effect.
package enum EffectError: Error, Equatable, Sendable {
    /// A type that this version does not know; a later one might.
    case unknownType(String)
    /// Fault and its place within the effect: `/value/set`.
    case malformed(at: JSONPointer, reason: String)
    /// The bytes are not JSON.
    case notJSON(JSONError)

    /// A sentence for people, without a full stop.
    package var message: String {
        switch self {
        case .unknownType(let name):
            "the effect '\(name)' is unknown, "
                + nearestNameAdvice(on: name, among: Effect.typeNames)
        case .malformed(let pointer, let reason):
            pointer == .whole
                ? "the effect \(reason)" : "the effect's member '\(pointer.text)' \(reason)"
        case .notJSON(let error): error.message
        }
    }
}
