import LarderModel
import LarderStore
import LarderWire

/// Prints what a session says as the frames of `/v1/fetch`.
struct FramePrinter: FetchPrinter {
    let clock: any EngineClock
    let scope: Scope
    let request: FetchRequest
    /// Sends one frame; false when nobody reads any more.
    let emit: (FetchFrame) async -> Bool
    /// What the client gets instead of frames.
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
    /// so that whoever follows it meets the same row.
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
