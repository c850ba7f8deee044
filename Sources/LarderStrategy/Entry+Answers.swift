package import LarderModel

extension Entry {
    package init(
        _ id: EntryID,
        status: Int = 200,
        _ headers: HeaderFields,
        of origin: OriginName,
        at now: Timestamp,
        _ freshness: Freshness,
        _ body: BodySummary
    ) {
        self.init(id: id, kind: .fetched, status: status, storedAt: now, body: body)
        self.origin = origin
        mediaType = headers["Content-Type"]
        // An empty field, as of Apache's `Header set ETag ""`, makes no condition.
        etag = headers["ETag"].flatMap { $0.isEmpty ? nil : $0 }
        lastModified = headers["Last-Modified"].flatMap { $0.isEmpty ? nil : $0 }
        self.headers = headers.kept
        freshUntil = freshness.until
    }
}

extension Entry {
    /// Whether the origin forbids to use the answer stale while it can be asked (RFC 9111 5.2.2).
    package var mustRevalidate: Bool {
        let control = CacheControl(headers.list("Cache-Control") ?? "")
        return control.isMustRevalidate || control.isNoCache
    }
}

extension HeaderFields {
    /// The end-to-end header fields (RFC 9110 7.6.1).
    ///
    /// Set-Cookie is not among them: it is a secret between the origin and the client that asked.
    package var endToEnd: HeaderFields {
        let named = Set(listed("Connection"))
        return keeping { !connectionHeaders.contains($0) && !named.contains($0) }
    }

    /// The Set-Cookie fields, which only the client that asked may see.
    package var cookies: HeaderFields { keeping { $0 == "set-cookie" } }

    /// The end-to-end fields that have no column in the database.
    var kept: HeaderFields { endToEnd.keeping { !columnHeaders.contains($0) } }
}

/// Fields about the connection instead of the answer, and secrets.
private let connectionHeaders: Set<String> = [
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection",
    "set-cookie", "set-cookie2", "te", "trailer", "transfer-encoding", "upgrade",
]

/// Fields that have a column, and the one that only the daemon may set.
private let columnHeaders: Set<String> = [
    "content-length", "content-type", "etag", "last-modified", Entry.sourceField.lowercased(),
]

private let storedBytesHeaders: Set<String> = [
    "content-digest", "content-encoding", "content-md5", "content-range", "digest", "repr-digest",
]

extension Entry {
    /// This entry after a 304 with `headers`: the same bytes, confirmed now (RFC 9111 4.3.4).
    ///
    /// `redirects`: the freshness that the redirects to the 304 leave.
    package func confirmed(
        by headers: HeaderFields,
        _ settings: FetchSettings,
        _ redirects: Freshness?,
        at now: Timestamp
    ) -> Entry {
        var confirmed = self
        // These fields described the earlier answer.
        confirmed.headers.remove("Age")
        confirmed.headers.remove("Date")
        // These fields say how to read the stored bytes, which stay the same (RFC 9111 3.2).
        let updating = headers.kept.keeping { !storedBytesHeaders.contains($0) }.fields
        for field in updating { confirmed.headers.remove(field.name) }
        for field in updating { confirmed.headers.append(field.name, field.value) }
        // The id has the values of these headers, which some caches leave out of the Vary of a 304.
        let named = Variants.names(in: confirmed.headers)
        let lost = Variants.names(in: self.headers).filter { !named.contains($0) }
        if !lost.isEmpty { confirmed.headers.append("Vary", lost.joined(separator: ", ")) }
        confirmed.storedAt = now
        let own = Freshness(confirmed.headers, settings: settings, now: now)
        confirmed.freshUntil = own.limited(by: redirects, settings).until
        return confirmed
    }
}

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
        /// The origin has to answer a request with this method.
        case method
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
