package import LarderModel
import NIOHTTP1

/// What a client sent to an ``OriginServer``.
package struct OriginRequest: Equatable, Sendable {
    package let method: String
    /// As on the request line: with the query.
    package let path: String
    package let headers: HeaderFields
    package let body: [UInt8]

    init(head: HTTPRequestHead, body: [UInt8]) {
        method = head.method.rawValue
        path = head.uri
        headers = HeaderFields(head.headers.map { .init(name: $0.name, value: $0.value) })
        self.body = body
    }
}
