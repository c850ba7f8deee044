package import LarderModel

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
