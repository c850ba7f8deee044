import LarderModel

/// How Larder handled a request, in the terms of the Cache-Status field (RFC 9211).
package struct CacheStatus: Equatable, Sendable {
    package enum Way: Equatable, Sendable {
        /// The cache answered, and the network was not waited for.
        case hit
        /// The network was asked first, for this reason; with the status that it answered.
        case forwarded(Reason, status: Int?)
        /// Neither: the network may not be asked, and there is nothing.
        case none
    }

    /// Why what is cached was not enough (2.2).
    package enum Reason: String, Sendable {
        case nothingCached = "uri-miss"
        case stale
        /// The cached answer is fresh, but the request wants the network.
        case request
        /// The cached answer is fresh, but the origin's policy wants the network.
        case bypass
    }

    package var way: Way
    /// Whether the network's answer is in the cache now.
    package var isStored = false
    /// How much longer what is given is fresh, below zero when it is stale; nil: it has no
    /// lifetime.
    package var lifetime: Duration?
    /// The name of the problem that occurred, or `network-wait`.
    package var detail: String?

    package init(_ way: Way, detail: String? = nil) {
        self.way = way
        self.detail = detail
    }

    /// The field's value, one member of a list.
    package var text: String {
        var parts = ["larder"]
        switch way {
        case .hit: parts.append("hit")
        case .forwarded(let reason, let status):
            parts.append("fwd=\(reason.rawValue)")
            if let status { parts.append("fwd-status=\(status)") }
            if isStored { parts.append("stored") }
        case .none: break
        }
        if let lifetime { parts.append("ttl=\(lifetime.milliseconds / 1_000)") }
        if let detail { parts.append("detail=\(detail)") }
        return parts.joined(separator: "; ")
    }
}
