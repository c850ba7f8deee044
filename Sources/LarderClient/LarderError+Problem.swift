import LarderWire

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
