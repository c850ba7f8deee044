import LarderWire

extension LarderError {
    /// What the daemon said; nil where it was not the daemon.
    public var problem: LarderProblem? {
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
    public static func problem(_ problem: LarderProblem) -> LarderError {
        guard !problem.isUnknown else { return .other(problem) }
        return switch problem.problem.kind {
        case .miss, .noSuchModifier: .miss(problem)
        case .deleted: .deleted(problem)
        case .unknownOrigin, .noSuchOrigin: .unknownOrigin(problem)
        case .notPermitted: .notPermitted(problem)
        case .unreachable, .captive, .offline, .timeout: .offline(problem)
        case .originStatus, .redirectRefused, .addressRefused, .badAnswer: .originFailed(problem)
        case .bodyTooLarge, .headTooLarge, .entryTooLarge: .tooLarge(problem)
        case .badRequest, .badID, .badURL, .unknownParameter, .unknownMember, .notFound,
            .methodNotAllowed, .notAcceptable, .sinceTooOld, .originID, .originExists,
            .originInFile, .pinned, .preconditionFailed,
            .targeted, .noRequest, .unsupported, .modifierExists, .originNeeded:
            .invalid(problem)
        case .alreadySent, .alreadySettled: .tooLate(problem)
        case .notApplied: .originFailed(problem)
        case .cacheFull, .pinsFull, .queueFull, .diskFull, .overloaded, .shuttingDown, .storage,
            .inUse, .internal:
            .unavailable(problem)
        }
    }

    /// A problem that needs no daemon to be seen.
    static func problem(_ problem: Problem) -> LarderError {
        .problem(LarderProblem(problem))
    }
}
