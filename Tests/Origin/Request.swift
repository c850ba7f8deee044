/// A request, whole.
struct Request {
    var method: String
    /// As on the request line.
    var path: String
    /// Of the header `Idempotency-Key`.
    var key: String?
    /// Of the header `Content-Type`.
    var type: String?
    /// Of the header `Authorization`.
    var authorization: String?
    /// Of the header `If-None-Match`.
    var ifNoneMatch: String?
    /// Of the header `If-Match`.
    var ifMatch: String?
    var body: [UInt8] = []

    /// What is said to the origin itself, and not asked of its documents.
    static func isControl(_ path: String) -> Bool { path.hasPrefix("/_") }
}
