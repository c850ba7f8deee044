package import LarderModel

/// The conditions of a request on the raw routes (RFC 9110 13): whether the client has already what
/// it would get.
package struct RawConditions: Equatable, Sendable {
    private let ifNoneMatch: String?
    private let ifModifiedSince: String?

    package init(_ request: HeaderFields) {
        ifNoneMatch = request.list("If-None-Match")
        ifModifiedSince = request["If-Modified-Since"]
    }

    /// Whether an answer with this status and these validators is told as 304.
    ///
    /// If-Modified-Since counts only where there is no If-None-Match, and for an answer that says
    /// when it was modified (13.1.3).
    package func isMet(
        status: Int,
        entityTag: String?,
        lastModified: String?,
        now: Timestamp
    ) -> Bool {
        guard status == 200 else { return false }
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
