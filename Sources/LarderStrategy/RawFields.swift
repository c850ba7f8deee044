package import LarderModel

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
        fields.append("Larder-Rev", String(entry.revision.number))
        fields.append("Larder-Pending", String(pending))
        return fields
    }

    /// The fields of an answer that is passed on as it arrives, from its own end-to-end fields.
    package static func passingOn(_ headers: HeaderFields, _ status: CacheStatus) -> HeaderFields {
        var fields = passed(headers)
        if let age = headers["Age"] { fields.append("Age", age) }
        fields.append("Cache-Status", status.text)
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
    /// An origin may not send Larder's own fields, and Larder serves no ranges. An origin's
    /// Cache-Status stays, as each cache on the way adds a member of its own.
    private static func passed(_ headers: HeaderFields) -> HeaderFields {
        HeaderFields(
            headers.fields.filter { field in
                let name = field.name.lowercased()
                return !name.hasPrefix("larder-") && !own.contains(name)
            }
        )
    }

    private static let own: Set<String> = ["age", "accept-ranges", "content-length"]
}
