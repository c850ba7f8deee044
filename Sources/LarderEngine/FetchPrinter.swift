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
    case shown(ShownAnswer, OpenBody, Occasion)
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

/// A body that is ready to be printed.
enum OpenBody {
    case bytes([UInt8])
    /// It is read piece by piece.
    case stored(BodyReader)
    /// It is more than a frame shows.
    case elsewhere
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
}
