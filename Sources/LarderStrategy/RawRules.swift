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
        isKept = !(accept?.lowercased().hasPrefix("text/event-stream") ?? false)
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
    package func grade(age: Duration, freshFor: Duration?) -> Grade {
        // Directives that contradict each other refuse every cached answer.
        if isOnlyCached && isNoCache { return .refused }
        let staleness = freshFor.map { .zero - $0 } ?? age
        let isFresh = freshFor.map { $0 > .zero } ?? false
        var isTolerated = isFresh
        switch maxStale {
        case .unsaid: break
        case .any: isTolerated = true
        case .upTo(let limit):
            guard isFresh || staleness <= limit else { return .refused }
            isTolerated = true
        }
        let isYoung = maxAge.map { age <= $0 } ?? true
        let staysFresh = minFresh.map { (freshFor ?? .zero) >= $0 } ?? true
        if isOnlyCached { return isYoung && staysFresh ? .fresh : .refused }
        return isTolerated && isYoung && staysFresh ? .fresh : .stale
    }
}
