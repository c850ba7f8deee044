import LarderModel
import LarderStrategy
import LarderUpstream

/// An origin's answer on its way to become an entry.
struct AnswerDraft {
    let plan: Flight.Plan
    let reply: UpstreamReply
    let freshness: Freshness
    let body: BodySummary

    private var headers: HeaderFields { reply.headers }

    /// The request headers that may tell this answer from others to the same URL.
    var varyNames: [String] { Variants.names(in: headers) }
    /// Whether the request carried one of them, so that the answer has an id of its own.
    var isVariant: Bool { varyNames.contains { plan.key.headers[$0] != nil } }

    func entry(storedAt now: Timestamp, _ variants: Variants) throws(ModelError) -> Entry {
        let id = try variants.id(
            of: plan.key.url,
            names: varyNames,
            request: plan.key.headers,
            origin: plan.origin
        )
        var entry = Entry(
            id: id,
            kind: .fetched,
            status: reply.status,
            storedAt: now,
            revision: Revision(0),
            body: body
        )
        entry.origin = plan.origin.name
        entry.mediaType = headers["Content-Type"]
        entry.etag = headers["ETag"]
        entry.lastModified = headers["Last-Modified"]
        entry.headers = headers.kept
        entry.freshUntil = freshness.until
        return entry
    }
}

extension HeaderFields {
    /// The end-to-end header fields (RFC 9110 7.6.1).
    ///
    /// Set-Cookie is none of them: it is a secret between the origin and whoever asked.
    var endToEnd: HeaderFields {
        let named = list("Connection")?.split(separator: ",").map { name in
            name.filter { $0 != " " }.lowercased()
        }
        let dropped = Set(named ?? []).union(connectionHeaders)
        return HeaderFields(fields.filter { !dropped.contains($0.name.lowercased()) })
    }

    /// Set-Cookie: for whoever has asked, and for nobody else.
    var cookies: HeaderFields {
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

extension Entry {
    /// This entry after a 304 with `headers`: the same bytes, confirmed now (RFC 9111 4.3.4).
    func confirmed(
        by headers: HeaderFields,
        _ settings: FetchSettings,
        at now: Timestamp
    ) -> Entry {
        var confirmed = self
        // What they told was told of the answer that came with them.
        confirmed.headers.remove("Age")
        confirmed.headers.remove("Date")
        for field in headers.kept.fields {
            confirmed.headers.remove(field.name)
        }
        for field in headers.kept.fields {
            confirmed.headers.append(field.name, field.value)
        }
        confirmed.storedAt = now
        confirmed.freshUntil = Freshness(confirmed.headers, settings: settings, now: now).until
        return confirmed
    }
}
