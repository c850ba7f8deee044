package import LarderModel

/// Decides how a request on the raw routes may use the cache.
///
/// The origin's policy applies, changed by the request's own Cache-Control (RFC 9111 5.2.1).
///
/// | directive | what it does |
/// |---|---|
/// | `only-if-cached` | only the cache, also stale; `max-age`, `min-fresh`, `max-stale` are limits |
/// | `no-cache` | only the network, which may confirm the cached answer; its failure is told |
/// | `no-store` | the network's answer is passed on and not kept |
/// | `max-stale`, `max-stale=n` | stale by at most `n` counts as fresh; beyond `n` it is refused |
/// | `max-age=n`, `min-fresh=n` | beyond the limit an answer serves only if the network fails |
///
/// `max-stale` makes no answer fresh that the origin wants to be revalidated.
///
/// There is one answer, so ``FetchPolicy/cacheThenNetwork`` counts as
/// ``FetchPolicy/networkFirst``.
package struct RawRules: Equatable, Sendable {
    /// How the cached answer may be used.
    package enum Grade: Equatable, Sendable {
        /// Usable without asking the network.
        case fresh
        /// Usable if the network fails or is slow.
        case stale
        /// Not usable.
        case refused
    }

    package private(set) var policy: FetchPolicy
    /// Whether the network's answer may be stored.
    package private(set) var isKept: Bool
    /// Whether the client takes nothing but server-sent events, which have no end.
    package let isEventStream: Bool
    private var isNoCache = false
    private var isOnlyCached = false
    private var maxAge: Duration?
    private var minFresh: Duration?
    private var maxStale = Tolerance.unsaid

    /// Whether the request, and not the policy, wants the network.
    package var asksNetwork: Bool { isNoCache || isPicky }
    private var isPicky: Bool { maxAge != nil || minFresh != nil }

    private enum Tolerance: Equatable, Sendable {
        case unsaid
        case any
        case upTo(Duration)
    }

    /// The rules of a request with the Cache-Control value `control` to an origin with `policy`.
    ///
    /// - If `accept` names only server-sent events, the answer is passed on and not kept.
    /// - An unknown directive has no effect. If a directive is given twice, the first one counts.
    /// - An argument that cannot be read counts as zero, the strictest value.
    package init(_ policy: FetchPolicy, control: String, accept: String? = nil) {
        self.policy = policy
        let types = (accept ?? "").split(separator: ",").map { String($0).mediaEssence }
        isEventStream = !types.isEmpty && types.allSatisfy { $0 == "text/event-stream" }
        isKept = !isEventStream
        for directive in CacheDirective.list(control) {
            let time = directive.argument.map { Duration(deltaSeconds: $0) ?? .zero }
            switch directive.name {
            case "no-cache": isNoCache = true
            case "no-store": isKept = false
            case "only-if-cached": isOnlyCached = true
            case "max-age" where maxAge == nil: maxAge = time ?? .zero
            case "min-fresh" where minFresh == nil: minFresh = time ?? .zero
            case "max-stale" where maxStale == .unsaid:
                maxStale = time.map { .upTo($0) } ?? .any
            default: continue
            }
        }
        self.policy = applied(to: policy)
    }

    private func applied(to policy: FetchPolicy) -> FetchPolicy {
        if isOnlyCached { return .cacheOnly }
        if isNoCache { return .networkOnly }
        switch policy {
        case .cacheThenNetwork, .networkFirst, .networkOnly:
            if maxStale != .unsaid { return .cacheFirst }
            return policy == .networkOnly ? .networkOnly : .networkFirst
        case .staleWhileRevalidate:
            // This policy might give an answer that is too old for the request.
            return isPicky ? .cacheFirst : .staleWhileRevalidate
        case .cacheFirst, .cacheOnly:
            return policy
        }
    }

    /// Grades an answer that was given or confirmed `age` ago.
    ///
    /// `freshFor` is the rest of its lifetime, below zero once that is over; nil: it never had one.
    /// With `mustRevalidate` a stale answer serves only if the network fails.
    package func grade(
        age: Duration,
        freshFor: Duration?,
        mustRevalidate: @autoclosure () -> Bool
    ) -> Grade {
        // Directives that contradict each other refuse every cached answer.
        if isOnlyCached && isNoCache { return .refused }
        let staleness = freshFor.map { .zero - $0 } ?? age
        let isFresh = freshFor.map { $0 > .zero } ?? false
        var isTolerated = isFresh
        switch maxStale {
        case .unsaid: break
        case .any: isTolerated = isFresh || !mustRevalidate()
        case .upTo(let limit):
            guard isFresh || staleness <= limit else { return .refused }
            isTolerated = isFresh || !mustRevalidate()
        }
        let isYoung = maxAge.map { age <= $0 } ?? true
        let staysFresh = minFresh.map { (freshFor ?? .zero) >= $0 } ?? true
        if isOnlyCached { return isYoung && staysFresh ? .fresh : .refused }
        return isTolerated && isYoung && staysFresh ? .fresh : .stale
    }
}

/// The conditions of a request on the raw routes (RFC 9110 13).
///
/// They say whether the client already has the answer.
package struct RawConditions: Equatable, Sendable {
    private let ifNoneMatch: String?
    private let ifModifiedSince: String?

    package init(_ request: HeaderFields) {
        ifNoneMatch = request.list("If-None-Match")
        ifModifiedSince = request["If-Modified-Since"]
    }

    /// Whether the client gets a 304 instead of an answer with this status and these validators.
    ///
    /// If-Modified-Since counts only without If-None-Match, and only for an answer with
    /// Last-Modified (13.1.3).
    package func isMet(
        status: Int,
        entityTag: String?,
        lastModified: String?,
        now: Timestamp
    ) -> Bool {
        guard status == 200 || status == 206 else { return false }
        if let ifNoneMatch {
            return entityTag.map { EntityTagList.contains($0, in: [ifNoneMatch]) }
                ?? (ifNoneMatch == "*")
        }
        guard let since = ifModifiedSince.flatMap({ Timestamp(httpDate: $0, now: now) }),
            let modified = lastModified.flatMap({ Timestamp(httpDate: $0, now: now) })
        else { return false }
        return modified <= since
    }
}

/// The header fields of an answer on the raw routes.
package enum RawFields {
    /// The fields of a cached answer or of one that was just stored.
    ///
    /// They are the origin's, Age (RFC 9111 5.1), Cache-Status (RFC 9211), and the revision. If the
    /// origin named no ETag, the digest of the bytes serves as one, so that clients can ask for
    /// every answer conditionally. `pending` is the number of unsettled modifiers that touch the
    /// answer.
    package static func of(
        _ entry: Entry,
        _ status: CacheStatus,
        pending: Int = 0,
        now: Timestamp
    ) -> HeaderFields {
        var fields = passed(entry.headers)
        if let mediaType = entry.mediaType { fields.append("Content-Type", mediaType) }
        fields.append("ETag", entry.entityTag)
        if let lastModified = entry.lastModified { fields.append("Last-Modified", lastModified) }
        let seconds = age(of: entry, now: now).milliseconds / 1_000
        fields.append("Age", String(seconds))
        var status = status
        status.lifetime = entry.freshUntil.map { $0.since(now) }
        fields.append("Cache-Status", status.text)
        if let source = entry.source { fields.append(Entry.sourceField, source.text) }
        fields.append("Larder-Rev", String(entry.revision.number))
        fields.append("Larder-Pending", String(pending))
        return fields
    }

    /// The fields of an answer that is passed on as it arrives, from its own end-to-end fields.
    ///
    /// `source`: the URL that gave the answer after redirects.
    package static func passingOn(
        _ headers: HeaderFields,
        _ status: CacheStatus,
        from source: WebURL? = nil
    ) -> HeaderFields {
        var fields = passed(headers)
        if let age = headers["Age"] { fields.append("Age", age) }
        fields.append("Cache-Status", status.text)
        if let source { fields.append(Entry.sourceField, source.text) }
        fields.append("Larder-Pending", "0")
        return fields
    }

    /// The age of a cached answer (RFC 9111 4.2.3): its time in the cache and its age at arrival.
    ///
    /// The age leaves out the origin's Date, as 4.2.3 allows. So a wrong clock on one side makes no
    /// answer older.
    package static func age(of entry: Entry, now: Timestamp) -> Duration {
        entry.age(at: now) + (entry.headers.age ?? .zero)
    }

    /// The origin's fields that a client gets.
    ///
    /// An origin may not send Larder's own fields. Its Accept-Ranges says nothing of the stored
    /// body. Its Cache-Status stays, as each cache on the way adds a member of its own.
    private static func passed(_ headers: HeaderFields) -> HeaderFields {
        headers.keeping { !$0.hasPrefix("larder-") && !own.contains($0) }
    }

    private static let own: Set<String> = ["age", "accept-ranges", "content-length"]
}
