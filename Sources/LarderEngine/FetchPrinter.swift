import LarderModel
import LarderStore
import LarderStrategy
import LarderWire

/// What a client gets of its ``FetchSession``: frames (``FramePrinter``), or one answer
/// (``RawPrinter``).
protocol FetchPrinter {
    /// Prints what is said, beside what was cached when the client asked; false when nobody reads any
    /// more, or all is said.
    mutating func print(_ word: FetchWord, beside cached: ShownAnswer?) async -> Bool
}

/// What a session says, as its machine decides it.
enum FetchWord {
    case shown(ShownAnswer, RawAnswer.Body, Occasion)
    /// The origin's answer as it comes, whatever its status.
    case passed(PassedHead, PassedBody)
    /// The network has what was shown.
    case unchanged(UnchangedFrame)
    case deleted(DeletedFrame, Occasion)
    /// The network has failed, behind what was shown.
    case failed(FetchFailure)
    /// In place of anything else.
    case refused(FetchFailure)
    case refusedAsDeleted(status: Int)
    case refusedAsMiss
    case origin(Revision, state: String)
    case heartbeat(Revision)
    case end(EndFrame)

    /// Why something is shown.
    enum Occasion {
        /// The network was not asked for it, or not waited for: then why not.
        case cache(whyNoNetwork: String? = nil)
        /// It is cached, and the network has failed.
        case failure(FetchFailure)
        case network(status: Int, isStored: Bool, cookies: HeaderFields)
    }
}

/// Why the network gives a client nothing that it wants.
enum FetchFailure: Equatable, Sendable {
    case problem(Problem)
    /// The origin's own words, whole where that is told.
    case refused(OriginRefusal, Problem)
    /// Its own words, as they come.
    case passed(PassedHead)

    var problem: Problem {
        switch self {
        case .problem(let problem), .refused(_, let problem): problem
        // What is passed on has one passenger, who is no stream of frames.
        case .passed: Problem(.internal, "a body was passed on to nobody")
        }
    }

    /// What the origin answered, if it did.
    var status: Int? {
        switch self {
        case .problem(let problem): problem.originStatus
        case .refused(let refusal, _): refusal.status
        case .passed(let head): head.status
        }
    }

    /// Whether the answer is there, and cannot be kept, or is too long to be quoted.
    var isToPassOn: Bool {
        switch self {
        case .problem(let problem):
            [.entryTooLarge, .cacheFull, .storage].contains(problem.kind)
        case .refused(let refusal, _): !refusal.isWhole
        case .passed: false
        }
    }

    /// Whether the origin lives and says no: that is an answer, unless it says only that it cannot
    /// answer now, and something cached can (RFC 5861 4).
    var isAnswer: Bool {
        switch self {
        case .problem: false
        case .refused, .passed: status.map { ![500, 502, 503, 504].contains($0) } ?? false
        }
    }
}
