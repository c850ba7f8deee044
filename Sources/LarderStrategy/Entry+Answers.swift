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
        etag = headers["ETag"]
        lastModified = headers["Last-Modified"]
        self.headers = headers.kept
        freshUntil = freshness.until
    }
}

extension HeaderFields {
    /// The end-to-end header fields (RFC 9110 7.6.1).
    ///
    /// Set-Cookie is none of them: it is a secret between the origin and whoever asked.
    package var endToEnd: HeaderFields {
        let dropped = connectionHeaders.union(listed("Connection"))
        return HeaderFields(fields.filter { !dropped.contains($0.name.lowercased()) })
    }

    /// Set-Cookie: for whoever has asked, and for nobody else.
    package var cookies: HeaderFields {
        HeaderFields(fields.filter { $0.name.lowercased() == "set-cookie" })
    }

    /// Those of them that have no column of their own.
    var kept: HeaderFields {
        HeaderFields(endToEnd.fields.filter { !columnHeaders.contains($0.name.lowercased()) })
    }
}

/// Of the connection rather than the answer, or a secret.
private let connectionHeaders: Set<String> = [
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection",
    "set-cookie", "set-cookie2", "te", "trailer", "transfer-encoding", "upgrade",
]

private let columnHeaders: Set<String> = [
    "content-length", "content-type", "etag", "last-modified",
]

private let storedBytesHeaders: Set<String> = [
    "content-digest", "content-encoding", "content-md5", "content-range", "digest", "repr-digest",
]

extension Entry {
    /// This entry after a 304 with `headers`: the same bytes, confirmed now (RFC 9111 4.3.4).
    package func confirmed(
        by headers: HeaderFields,
        _ settings: FetchSettings,
        at now: Timestamp
    ) -> Entry {
        var confirmed = self
        // What they told was told of the answer that came with them.
        confirmed.headers.remove("Age")
        confirmed.headers.remove("Date")
        // They say how the stored bytes are to be read, and the bytes stay (RFC 9111 3.2).
        let updating = headers.kept.fields.filter {
            !storedBytesHeaders.contains($0.name.lowercased())
        }
        for field in updating { confirmed.headers.remove(field.name) }
        for field in updating { confirmed.headers.append(field.name, field.value) }
        confirmed.storedAt = now
        confirmed.freshUntil = Freshness(confirmed.headers, settings: settings, now: now).until
        return confirmed
    }
}
