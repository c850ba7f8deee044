import LarderClient
import LarderWire

/// The exit codes of every command, as sysexits(3) and the manual have them.
enum ExitStatus: Int32 {
    case failed = 1
    case notFound = 3
    case usage = 64
    case noDaemon = 69
    /// Only while the network or the origin cannot be reached, or is late.
    case nothingToShow = 75
    case notPermitted = 77
    case badConfiguration = 78

    /// What the help of the command says.
    static let manual = """
        Exit codes: 0 done, 1 failed, 3 not found, 64 wrong usage, 69 no daemon, 75 nothing to show \
        while offline, 77 not permitted, 78 bad configuration.
        """

    /// The code of a kind of problem, for every command that does not know better.
    init(_ kind: ProblemKind) {
        switch kind {
        case .badRequest, .badID, .badURL, .unknownParameter, .unknownMember, .originNeeded:
            self = .usage
        case .miss, .deleted, .noSuchOrigin, .noSuchModifier: self = .notFound
        case .notPermitted, .unknownOrigin, .addressRefused: self = .notPermitted
        case .shuttingDown: self = .noDaemon
        case .unreachable, .captive, .offline, .timeout: self = .nothingToShow
        case .notFound, .methodNotAllowed, .notAcceptable, .bodyTooLarge, .headTooLarge, .originID,
            .originExists, .originInFile, .pinned, .pinsFull, .entryTooLarge, .cacheFull, .diskFull,
            .originStatus,
            .redirectRefused, .badAnswer, .overloaded, .storage, .sinceTooOld, .internal,
            .noRequest, .unsupported, .modifierExists, .alreadySent, .alreadySettled, .inUse,
            .queueFull, .targeted, .notApplied, .preconditionFailed:
            self = .failed
        }
    }
}
