package import LarderJSON

/// Why bytes from the daemon are not the frame, problem or report that they should be.
///
/// What the daemon refuses of a client's command is a ``Problem`` instead.
package enum WireError: Error, Equatable, Sendable {
    case notJSON(JSONError)
    case missingMember(String)
    case wrongType(member: String, wanted: String)
    /// A text where only some are known, or that is no id, no time and so on.
    case unknownValue(member: String, text: String)
    /// A line of a stream of a type that only a newer daemon sends.
    case unknownFrame(type: String)

    package var message: String {
        switch self {
        case .notJSON(let error): error.message
        case .missingMember(let name): "the member '\(name)' is missing"
        case .wrongType(let name, let wanted): "the member '\(name)' is not \(wanted)"
        case .unknownValue(let name, let text): "the member '\(name)' has the value '\(text)'"
        case .unknownFrame(let type): "the type of frame '\(type)' is not known"
        }
    }
}
