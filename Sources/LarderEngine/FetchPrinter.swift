package import LarderModel
package import LarderStore
import LarderStrategy
import LarderUpstream
package import LarderWire

protocol FetchPrinter {
    /// Prints one word of a session; `cached` is what was cached when the client asked.
    ///
    /// Returns false if the client no longer reads, or if this was the last word.
    mutating func print(_ word: FetchOutput, beside cached: ShownAnswer?) async -> Bool
}

enum FetchOutput {
    case shown(ShownAnswer, RawAnswer.Body, SnapshotReason)
    case passed(PassedHead, PassThroughBody)
    case deleted(DeletedFrame, SnapshotReason)
    case failed(FetchFailure)
    /// In place of anything else.
    case refused(FetchFailure)
    case refusedAsDeleted(status: Int)
    case refusedAsMiss
    /// A frame that follows another word, or that only followers get.
    case frame(FetchFrame)

    enum SnapshotReason {
        /// The network was not asked, or not waited for; the reason.
        case cache(whyNoNetwork: String? = nil)
        case failure(FetchFailure)
        case network(status: Int, isStored: Bool, cookies: HeaderFields)

        /// Whether the store has the body that is shown.
        var isStored: Bool {
            if case .network(_, let isStored, _) = self { isStored } else { true }
        }
    }
}

/// The reason why the network gives a client no answer.
enum FetchFailure: Equatable, Sendable {
    case problem(Problem)
    /// The origin's own answer, whole if `isWhole`.
    case refused(OriginRefusal, Problem)
    case passed(PassedHead)

    var problem: Problem {
        switch self {
        case .problem(let problem), .refused(_, let problem): problem
        // A body that is passed on goes to one client, which does not read frames.
        case .passed: Problem(.internal, "a body was passed on without a client")
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

    /// Whether the refusal of the origin is its answer.
    ///
    /// A status that says only that it cannot answer now is none, and neither is a redirect that the
    /// daemon does not follow: a cached answer may replace it (RFC 5861 4).
    var isAnswer: Bool {
        switch self {
        case .problem: false
        case .refused(_, let problem) where problem.kind == .redirectRefused: false
        case .refused, .passed: status.map { !Self.outages.contains($0) } ?? false
        }
    }

    /// RFC 5861 4 and, from 520 on, what Cloudflare sends in place of an answer of the origin.
    private static let outages: Set<Int> = [
        500, 502, 503, 504, 520, 521, 522, 523, 524, 525, 526, 530,
    ]
}

struct PassedHead: Equatable, Sendable {
    let status: Int
    let headers: HeaderFields
    var cookies = HeaderFields()
    let byteCount: Int64?
    /// The URL that gave the answer after redirects.
    let source: WebURL?
    /// Whether it answers a range of the whole body, which is being stored.
    let isOfRange: Bool
    var is2xx: Bool { (200..<300).contains(status) }

    init(_ reply: UpstreamReply, from source: WebURL?, isOfRange: Bool = false) {
        (self.source, self.isOfRange) = (source, isOfRange)
        status = reply.status
        var headers = reply.headers.endToEnd
        if headers.isOfDecodedBody, let tag = headers["ETag"], tag.hasPrefix("\"") {
            // A strong tag would name the coded bytes.
            headers.set("ETag", "W/\(tag)")
        }
        self.headers = headers
        cookies = reply.headers.cookies
        byteCount = reply.headers["Content-Length"].flatMap { Int64($0) }
    }
}

struct FramePrinter: FetchPrinter {
    let clock: any EngineClock
    let scope: Scope
    let request: FetchRequest
    /// Counts the large bodies that a follower has yet to take; nil for another fetch.
    let followers: FollowerTable?
    let emit: (FetchFrame) async -> Bool
    private(set) var refusal: Problem?

    mutating func print(_ word: FetchOutput, beside cached: ShownAnswer?) async -> Bool {
        switch word {
        case .shown(let answer, let body, let reason):
            var bytes: [UInt8]?
            if case .bytes(let ready) = body { bytes = ready }
            var share: Interest?
            if let followers, let count = bytes?.count, count > Limits.inlineBodyBytesMax,
                reason.isStored, answer.overlay.isComplete
            {
                share = followers.holdFrame(of: scope, bytes: count)
                // The small frame fits into the socket, and the client reads the body later.
                if share == nil { bytes = nil }
            }
            defer { share?.end() }
            let now = clock.now()
            return await emit(.snapshot(SnapshotFrame(answer, bytes, for: scope, now: now)))
        case .deleted(let frame, _): return await emit(.deleted(frame))
        case .failed(let failure): return await emit(.problem(ProblemFrame(failure.problem)))
        case .frame(.end(let frame)):
            _ = await emit(.end(frame))
        case .frame(let frame): return await emit(frame)
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
        complete = overlay.isComplete
        missing = overlay.isComplete ? nil : overlay.missing
        if !overlay.rows.isEmpty { rows = overlay.rows }
        if !overlay.failedRows.isEmpty { failedRows = overlay.failedRows }
    }
}

extension FrameBody {
    /// Shows JSON as it is, other bytes as base64, and a large body as its address.
    ///
    /// `bytes` is nil if the body is too large to show. The address also names the account, so that
    /// a client that follows it reads the same row.
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

/// Prints what a session says first as one HTTP answer, that of the raw routes.
struct RawPrinter: FetchPrinter {
    let clock: any EngineClock
    let url: WebURL
    let rules: RawRules
    let conditions: RawConditions
    private(set) var reply: RawReply?

    mutating func print(_ word: FetchOutput, beside cached: ShownAnswer?) async -> Bool {
        switch word {
        case .shown(let answer, let body, let reason):
            reply = .answer(self.answer(answer, body, reason, cached))
        case .passed(let head, let body):
            reply = .answer(passed(head, body, forwarded(cached, status: head.status)))
        case .deleted(let frame, let reason):
            let isByModifier = frame.source == .modifier
            let problem: Problem =
                isByModifier
                ? .deleted(url.text, by: .modifier) : .gone(url, status: frame.status)
            refuse(problem, status(reason, cached))
        case .refusedAsDeleted(let code):
            refuse(.gone(url, status: code), forwarded(cached, status: code))
        case .refusedAsMiss:
            let problem = Problem(.miss, "nothing is cached for \(url)", status: 504)
            refuse(problem, CacheStatus(.none, detail: problem.kind.rawValue))
        case .refused(.refused(let refusal, _)), .failed(.refused(let refusal, _)):
            let status = forwarded(cached, status: refusal.status)
            let fields = RawFields.passingOn(refusal.headers, status).adding(refusal.cookies)
            let body = RawAnswer.Body.bytes(refusal.body)
            reply = .answer(RawAnswer(status: refusal.status, fields: fields, body: body))
        case .refused(let failure), .failed(let failure):
            refuse(failure.problem, status(.failure(failure), cached))
        case .frame: break
        }
        return false
    }

    private func answer(
        _ answer: ShownAnswer,
        _ body: RawAnswer.Body,
        _ reason: FetchOutput.SnapshotReason,
        _ cached: ShownAnswer?
    ) -> RawAnswer {
        let entry = answer.entry
        let pending = answer.overlay.pending.count
        var fields = RawFields.of(
            entry,
            status(reason, cached),
            pending: pending,
            now: clock.now()
        )
        if case .network(_, _, let cookies) = reason { fields = fields.adding(cookies) }
        var shown = conditional(
            RawAnswer(status: entry.status, fields: fields, body: body),
            entity: entry.entityTag,
            lastModified: entry.lastModified
        )
        shown.entry = entry
        return shown
    }

    private func passed(
        _ head: PassedHead,
        _ body: PassThroughBody,
        _ status: CacheStatus
    ) -> RawAnswer {
        let fields = RawFields.passingOn(head.headers, status, from: head.source)
        return conditional(
            RawAnswer(
                status: head.status,
                fields: fields.adding(head.cookies),
                body: .passed(body, byteCount: head.byteCount),
                isOfRange: head.isOfRange
            ),
            entity: head.headers["ETag"],
            lastModified: head.headers["Last-Modified"]
        )
    }

    private func conditional(
        _ answer: RawAnswer,
        entity tag: String?,
        lastModified: String?
    ) -> RawAnswer {
        let isMet = conditions.isMet(
            status: answer.status,
            entityTag: tag,
            lastModified: lastModified,
            now: clock.now()
        )
        return isMet ? RawAnswer(status: 304, fields: answer.fields, body: .empty) : answer
    }

    private func status(_ reason: FetchOutput.SnapshotReason, _ cached: ShownAnswer?) -> CacheStatus
    {
        switch reason {
        case .cache(let reason): return CacheStatus(.hit, detail: reason)
        case .failure(let failure):
            var status = forwarded(cached, status: failure.status)
            // The status says it where the origin has spoken.
            if case .problem(let problem) = failure { status.detail = problem.kind.rawValue }
            return status
        case .network(let code, let isStored, _):
            var status = forwarded(cached, status: code)
            status.isStored = isStored
            return status
        }
    }

    private func forwarded(_ cached: ShownAnswer?, status: Int?) -> CacheStatus {
        let reason: CacheStatus.Reason =
            switch cached?.entry {
            case let entry? where entry.kind == .fetched:
                entry.isStale(at: clock.now()) ? .stale : rules.asksNetwork ? .request : .bypass
            case .some, nil: .nothingCached
            }
        return CacheStatus(.forwarded(reason, status: status))
    }

    private mutating func refuse(_ problem: Problem, _ status: CacheStatus) {
        var fields = HeaderFields()
        fields.append("Cache-Status", status.text)
        reply = .problem(problem, fields)
    }
}

extension HeaderFields {
    fileprivate func adding(_ others: HeaderFields) -> HeaderFields {
        HeaderFields(fields + others.fields)
    }
}

package enum RawReply {
    case answer(RawAnswer)
    case problem(Problem, HeaderFields)
}

package struct RawAnswer {
    package enum Body {
        /// None, or more than a frame shows.
        case empty
        case bytes([UInt8])
        case stored(BodyReader)
        /// Bytes from the origin as they are read; the length if the origin announced one.
        case passed(PassThroughBody, byteCount: Int64?)
    }

    package var status: Int
    /// Everything but the length.
    package var fields: HeaderFields
    package var body: Body
    /// The entry that is shown; nil for an answer that is passed on.
    package var entry: Entry?
    /// Whether a body that is passed on answers a range of all its bytes.
    package var isOfRange = false
}
