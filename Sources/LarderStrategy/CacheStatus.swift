import LarderModel

/// How Larder handled a request, in the terms of the Cache-Status field (RFC 9211).
package struct CacheStatus: Equatable, Sendable {
    package enum Way: Equatable, Sendable {
        /// The cache answered without waiting for the network.
        case hit
        /// The network was asked first, for this reason and with this status.
        case forwarded(Reason, status: Int?)
        /// The network may not be asked, and the cache has no answer.
        case none
    }

    /// The reason why the cached answer was not enough (2.2).
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
    /// The rest of the answer's lifetime, below zero when it is stale; nil: it has no lifetime.
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
