/// Why something did not go as asked.
///
/// The enum is closed: there is nothing else to catch.
public enum LarderError: Error, Equatable, Sendable {
    /// No daemon answers: each socket that was tried, and why not.
    case unreachable([SocketFailure])
    /// The daemon's socket may not be opened by this user.
    case notPermitted(socket: String)
    /// The daemon says no, or has nothing; what and why is in the problem.
    case problem(LarderProblem)
    /// The connection ended in the middle of an answer.
    case cutOff
    /// What came is no answer that this version of the client understands.
    case badAnswer(String)
    /// The body of the entry is not the type that was asked for.
    case decoding(id: String, reason: String)
    /// The sequence that gave the bytes to be stored failed.
    case bodyFailed(String)
    /// The task was cancelled.
    case cancelled
}

/// A socket that was tried, and why it did not answer.
public struct SocketFailure: Hashable, Sendable {
    /// The path.
    public let path: String
    /// Words for people, such as `connection refused`.
    public let reason: String

    package init(path: String, reason: String) {
        self.path = path
        self.reason = reason
    }
}

extension LarderError: CustomStringConvertible {
    /// One sentence for people.
    public var description: String {
        switch self {
        case .unreachable(let failures):
            "no larderd answers at "
                + failures.map { "\($0.path) (\($0.reason))" }.joined(separator: ", ")
        case .notPermitted(let socket): "no permission to open \(socket)"
        case .problem(let problem): problem.detail
        case .cutOff: "the connection to larderd ended in the middle of an answer"
        case .badAnswer(let reason): "the answer of larderd cannot be understood: \(reason)"
        case .decoding(let id, let reason): "the body of \(id) cannot be decoded: \(reason)"
        case .bodyFailed(let reason): "the bytes to be stored cannot be read: \(reason)"
        case .cancelled: "cancelled"
        }
    }
}
