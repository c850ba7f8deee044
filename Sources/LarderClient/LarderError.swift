/// Why something did not go as asked.
///
/// The enum is closed. Every type of problem that the daemon knows belongs to one case;
/// ``other(_:)`` has those of a newer daemon. A case that carries a `Problem` has the daemon's
/// words with a hint on the next step; ``problem`` has it for all of them.
///
///     do {
///         show(try await larder.entry(id))
///     } catch .miss {
///         showNothing()
///     } catch .offline(let problem) {
///         show(problem.hint)
///     }
public enum LarderError: Error, Equatable, Sendable {
    // The daemon itself.

    /// No daemon answers: each socket that was tried, and why not.
    case unreachable([SocketFailure])
    /// The daemon's socket may not be opened by this user.
    case socketRefused(path: String)

    // The daemon says no, or has nothing.

    /// Nothing is there under the id, or was cached of the URL; there is no such modifier.
    case miss(Problem)
    /// The origin said that it is gone (404 or 410).
    case deleted(Problem)
    /// No origin that the daemon knows has the URL, or the name.
    case unknownOrigin(Problem)
    /// Only an administrator of the daemon may do it.
    case notPermitted(Problem)
    /// The network or the origin's server did not answer, or not in time, and nothing is cached:
    /// the same may go well later.
    case offline(Problem)
    /// The origin's server answered with a refusal or with something that cannot be used.
    case originFailed(Problem)
    /// The bytes are more than the daemon takes.
    case tooLarge(Problem)
    /// What was asked for cannot be: a mistake of the program, which the problem names.
    case invalid(Problem)
    /// The modifier was sent or settled before it could be taken back, given up or sent again.
    case tooLate(Problem)
    /// The daemon cannot do it now: it is ending, overloaded, or its disk, cache or queue is full.
    case unavailable(Problem)
    /// The daemon says no with a type of problem that this version does not know, or, to a request
    /// whose answer has no body, with nothing but a status.
    case other(Problem)

    // The way to the daemon and back.

    /// The daemon did not answer in time, or all connections of the client were in use for as long.
    ///
    /// The daemon may still carry the request out.
    case timedOut
    /// The connection ended in the middle of an answer.
    case cutOff
    /// What came is no answer that this version of the client understands.
    case badAnswer(String)
    /// The body of the entry is not the type that was asked for.
    case decoding(id: String, reason: String)
    /// The sequence that gave the bytes to be stored failed.
    case bodyFailed(String)
    /// A file cannot be written.
    case fileFailed(path: String, reason: String)
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
        case .socketRefused(let path): "no permission to open \(path)"
        case .miss(let problem), .deleted(let problem), .unknownOrigin(let problem),
            .notPermitted(let problem), .offline(let problem), .originFailed(let problem),
            .tooLarge(let problem), .invalid(let problem), .tooLate(let problem),
            .unavailable(let problem), .other(let problem):
            problem.detail
        case .timedOut: "larderd did not answer in time"
        case .cutOff: "the connection to larderd ended in the middle of an answer"
        case .badAnswer(let reason): "the answer of larderd cannot be understood: \(reason)"
        case .decoding(let id, let reason): "the body of \(id) cannot be decoded: \(reason)"
        case .bodyFailed(let reason): "the bytes to be stored cannot be read: \(reason)"
        case .fileFailed(let path, let reason): "\(path): \(reason)"
        case .cancelled: "cancelled"
        }
    }
}

extension LarderError {
    /// What the daemon said; nil where it was not the daemon.
    public var problem: Problem? {
        switch self {
        case .miss(let problem), .deleted(let problem), .unknownOrigin(let problem),
            .notPermitted(let problem), .offline(let problem), .originFailed(let problem),
            .tooLarge(let problem), .invalid(let problem), .tooLate(let problem),
            .unavailable(let problem), .other(let problem):
            problem
        case .unreachable, .socketRefused, .timedOut, .cutOff, .badAnswer, .decoding, .bodyFailed,
            .fileFailed, .cancelled:
            nil
        }
    }

    /// The case that a problem belongs to.
    public static func problem(_ problem: Problem) -> LarderError {
        switch ProblemKind(type: problem.type) {
        case nil: .other(problem)
        case .miss, .noSuchModifier: .miss(problem)
        case .deleted: .deleted(problem)
        case .unknownOrigin, .noSuchOrigin: .unknownOrigin(problem)
        case .notPermitted: .notPermitted(problem)
        case .unreachable, .captive, .offline, .timeout: .offline(problem)
        case .originStatus, .redirectRefused, .addressRefused, .badAnswer, .notApplied:
            .originFailed(problem)
        case .bodyTooLarge, .headTooLarge, .entryTooLarge: .tooLarge(problem)
        case .alreadySent, .alreadySettled: .tooLate(problem)
        case .inUse: .unavailable(problem)
        case let kind?: kind.status < 500 ? .invalid(problem) : .unavailable(problem)
        }
    }
}
