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
    /// This user has no permission to open the daemon's socket.
    case socketRefused(path: String)

    // The daemon says no, or has nothing.

    /// Nothing is cached under the id or URL, or there is no modifier of this id.
    case miss(Problem)
    /// The origin said that it is gone (404 or 410).
    case deleted(Problem)
    /// The daemon has no origin for the URL, or none of the name.
    case unknownOrigin(Problem)
    /// Only an administrator of the daemon may do it.
    case notPermitted(Problem)
    /// The network or the origin did not answer in time, and nothing is cached; a later try may
    /// work.
    case offline(Problem)
    /// The origin's server answered with a refusal or with something that cannot be used.
    case originFailed(Problem)
    /// The bytes are more than the daemon takes.
    case tooLarge(Problem)
    /// The request is invalid; the problem names the program's mistake.
    case invalid(Problem)
    /// The modifier was already sent or settled, or another client renews the credential.
    case tooLate(Problem)
    /// The daemon is ending or overloaded, or its disk, cache or queue is full.
    case unavailable(Problem)
    /// The daemon refused with a problem type that this version does not know.
    ///
    /// A refused HEAD request also gives this case for most statuses, as its answer has no problem.
    case other(Problem)

    // The way to the daemon and back.

    /// The daemon did not answer in time, or all connections of the client were in use for as long.
    ///
    /// The daemon may still carry the request out.
    case timedOut
    /// The connection ended in the middle of an answer.
    case cutOff
    /// This version of the client does not understand the answer.
    case badAnswer(String)
    /// The body of the entry does not decode as the requested type.
    case decoding(id: String, reason: String)
    /// The bytes to store could not be read: the sequence or the encoder failed, or the length is
    /// wrong.
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
    /// Text for people, such as `there is no socket`.
    public let reason: String

    package init(path: String, reason: String) {
        self.path = path
        self.reason = reason
    }
}

/// The two ways to begin, for a user whose programs reach no daemon.
package enum WayToBegin {
    package static let system =
        "Use the system's daemon: sudo adduser NAME larder-clients    (log in again)"
    package static let own =
        "Or start your own: systemctl --user enable --now larder.socket    (works immediately)"
}

extension LarderError: CustomStringConvertible {
    /// Description for people: a sentence, and for ``unreachable(_:)`` the two ways to begin, each on
    /// a line.
    public var description: String {
        guard case .unreachable = self else { return summary }
        return "\(summary)\n\(WayToBegin.system)\n\(WayToBegin.own)"
    }

    /// The description in one sentence.
    package var summary: String {
        switch self {
        case .unreachable(let failures):
            "no larderd answers at "
                + failures.map { "\($0.path) (\($0.reason))" }.joined(separator: ", ")
        case .socketRefused(let path): "no permission to open \(path)"
        case .timedOut: "larderd did not answer in time"
        case .cutOff: "the connection to larderd ended in the middle of an answer"
        case .badAnswer(let reason): "the answer of larderd cannot be understood: \(reason)"
        case .decoding(let id, let reason): "the body of \(id) cannot be decoded: \(reason)"
        case .bodyFailed(let reason): "the bytes to be stored cannot be read: \(reason)"
        case .fileFailed(let path, let reason): "\(path): \(reason)"
        case .cancelled: "cancelled"
        default: self.problem?.detail ?? ""
        }
    }
}

extension LarderError {
    /// The daemon's problem; nil for errors that the daemon did not send.
    public var problem: Problem? {
        switch self {
        case .miss(let problem), .deleted(let problem), .unknownOrigin(let problem),
            .notPermitted(let problem), .offline(let problem), .originFailed(let problem),
            .tooLarge(let problem), .invalid(let problem), .tooLate(let problem),
            .unavailable(let problem), .other(let problem):
            problem
        default: nil
        }
    }

    /// The error of the case that a problem belongs to.
    public static func problem(_ problem: Problem) -> LarderError {
        switch ProblemKind(type: problem.type) {
        case nil: .other(problem)
        case .miss, .noSuchModifier, .noSuchSet: .miss(problem)
        case .deleted: .deleted(problem)
        case .unknownOrigin, .noSuchOrigin: .unknownOrigin(problem)
        case .notPermitted: .notPermitted(problem)
        case .unreachable, .captive, .offline, .timeout: .offline(problem)
        case .originStatus, .redirectRefused, .addressRefused, .badAnswer, .notApplied:
            .originFailed(problem)
        case .bodyTooLarge, .headTooLarge, .entryTooLarge: .tooLarge(problem)
        case .alreadySent, .alreadySettled, .leaseOver: .tooLate(problem)
        case .inUse: .unavailable(problem)
        case let kind?: kind.status < 500 ? .invalid(problem) : .unavailable(problem)
        }
    }
}
