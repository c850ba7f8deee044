import LarderModel
import LarderStore
import LarderStrategy
import LarderWire

protocol FetchPrinter {
    /// Prints what is said, beside what was cached when the client asked; false when nobody reads any
    /// more, or all is said.
    mutating func print(_ word: FetchWord, beside cached: ShownAnswer?) async -> Bool
}

enum FetchWord {
    case shown(ShownAnswer, RawAnswer.Body, Occasion)
    case passed(PassedHead, PassedBody)
    /// The network has what was shown.
    case unchanged(UnchangedFrame)
    case deleted(DeletedFrame, Occasion)
    case failed(FetchFailure)
    /// In place of anything else.
    case refused(FetchFailure)
    case refusedAsDeleted(status: Int)
    case refusedAsMiss
    case origin(Revision, state: String)
    case heartbeat(Revision)
    case end(EndFrame)

    enum Occasion {
        /// The network was not asked for it, or not waited for: then why not.
        case cache(whyNoNetwork: String? = nil)
        case failure(FetchFailure)
        case network(status: Int, isStored: Bool, cookies: HeaderFields)
    }
}

/// Why the network gives a client nothing that it wants.
enum FetchFailure: Equatable, Sendable {
    case problem(Problem)
    /// The origin's own words, whole where that is told.
    case refused(OriginRefusal, Problem)
    case passed(PassedHead)

    var problem: Problem {
        switch self {
        case .problem(let problem), .refused(_, let problem): problem
        // What is passed on has one passenger, who is no stream of frames.
        case .passed: Problem(.internal, "a body was passed on to nobody")
        }
    }

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

struct FramePrinter: FetchPrinter {
    let clock: any EngineClock
    let scope: Scope
    let request: FetchRequest
    let emit: (FetchFrame) async -> Bool
    private(set) var refusal: Problem?

    mutating func print(_ word: FetchWord, beside cached: ShownAnswer?) async -> Bool {
        switch word {
        case .shown(let answer, let body, _):
            var bytes: [UInt8]?
            if case .bytes(let ready) = body { bytes = ready }
            let now = clock.now()
            return await emit(.snapshot(SnapshotFrame(answer, bytes, for: scope, now: now)))
        case .unchanged(let frame): return await emit(.unchanged(frame))
        case .deleted(let frame, _): return await emit(.deleted(frame))
        case .failed(let failure): return await emit(.error(failure.problem))
        case .origin(let revision, let state):
            return await emit(.origin(revision, request.origin.name, state: state))
        case .heartbeat(let revision): return await emit(.heartbeat(revision))
        case .end(let frame):
            _ = await emit(.end(frame))
        case .refused(let failure):
            refusal = failure.problem
        case .passed(let head, _):
            refusal = FetchFailure.passed(head).problem
        case .refusedAsMiss:
            refusal = Problem(.miss, "nothing is cached for \(request.url)")
        case .refusedAsDeleted(let status):
            refusal = Problem(.deleted, "the origin says that \(request.url) is gone")
            refusal?.originStatus = status
        }
        return false
    }
}

extension SnapshotFrame {
    /// `bytes` is nil where the body is more than a frame shows.
    init(_ answer: ShownAnswer, _ bytes: [UInt8]?, for scope: Scope, now: Timestamp) {
        let (entry, overlay) = (answer.entry, answer.overlay)
        let isNew = answer.source == .network
        self.init(
            source: answer.source,
            revision: entry.revision,
            isStale: !isNew && entry.isStale(at: now),
            age: isNew ? .zero : entry.age(at: now),
            entry: FrameEntry(
                id: entry.id,
                status: entry.status,
                mediaType: entry.mediaType,
                etag: entry.entityTag,
                storedAt: entry.storedAt,
                body: FrameBody(entry, in: scope, bytes: bytes)
            )
        )
        pending = overlay.pending.count
        pendingIDs = overlay.pending.prefix(Limits.toldPendingMax).map(\.text)
        failed = overlay.failed
        isComplete = overlay.isComplete
        missing = overlay.missing
    }
}

extension FrameBody {
    /// How a body stands in a frame: JSON as it is, else base64, and by its address when it is
    /// large.
    ///
    /// `bytes` is nil when the body is too large to be shown. The address names the account too,
    /// so that a client that follows the URL reads the same row.
    init(_ entry: Entry, in scope: Scope, bytes: [UInt8]?) {
        if let bytes, entry.body.isJSON {
            self = .json(bytes)
        } else if let bytes, bytes.count <= Limits.base64BodyBytesMax {
            self = .bytes(bytes)
        } else {
            let account = scope.account
            let query = account == .default ? "" : "?account=\(PercentCoding.encode(account.text))"
            self = .href(PercentCoding.entryPath(entry.id) + query)
        }
    }
}
