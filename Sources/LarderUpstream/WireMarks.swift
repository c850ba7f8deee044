import LarderModel
import NIOCore
import NIOHTTP1

/// Orders from the upstream to the handler of the connection on which a request goes out.
///
/// async-http-client chooses the connection. So the orders travel in a header field, which
/// ``RequestHandler`` removes before it encodes the request.
struct WireMarks: Equatable {
    /// The request target as it is sent (RFC 9112 3.2.1).
    var target: String
    /// The connection must have been made after this.
    var connectedAfter = NIODeadline.uptimeNanoseconds(0)
    /// How long a reused connection may send no byte of the answer before it counts as dead.
    ///
    /// Nil if the request must not be sent a second time.
    var silence: TimeAmount?

    private static let name = "Larder-Wire"

    func write(to headers: inout HTTPHeaders) {
        let silence = silence.map { String($0.nanoseconds) } ?? "-"
        headers.replaceOrAdd(
            name: Self.name,
            value: "\(connectedAfter.uptimeNanoseconds) \(silence) \(target)"
        )
    }

    /// Reads and removes the field; nil if there is none.
    static func take(from headers: inout HTTPHeaders) -> WireMarks? {
        guard let value = headers.first(name: name) else { return nil }
        headers.remove(name: name)
        let parts = value.split(separator: " ", maxSplits: 2)
        guard parts.count == 3, let born = UInt64(parts[0]) else { return nil }
        return WireMarks(
            target: String(parts[2]),
            connectedAfter: .uptimeNanoseconds(born),
            silence: Int64(parts[1]).map { .nanoseconds($0) }
        )
    }
}

/// The reason why a reused connection was given up before a byte of the answer came.
enum StaleConnection: Error {
    /// No byte of the request has left.
    case unused
    /// The request was written, and no byte came back.
    case silent
}
