import Glibc
import LarderWire
import NIOHTTP1

/// The 503 answer to a client whose connection the server does not take.
///
/// The bytes are made once, as the process may have no memory or file left when they are needed.
struct ConnectionRefusal: Sendable {
    static let noFiles = ConnectionRefusal(
        "the daemon can open no more files",
        hint: "Try again, or raise the limit of open files, LimitNOFILE= of the unit."
    )
    static let tooMany = ConnectionRefusal(
        "there are too many connections, of all users or of yours",
        hint: "Close some, or raise the limit of open files, LimitNOFILE= of the unit."
    )

    private let bytes: [UInt8]

    private init(_ detail: String, hint: String) {
        let body = Problem(.overloaded, detail, hint: hint).encoded()
        let head = [
            "HTTP/1.1 503 Service Unavailable", "Content-Type: \(Problem.mediaType)",
            "Content-Length: \(body.count)", "Retry-After: 1", "Server: \(HTTPHeaders.server)",
            "Connection: close", "", "",
        ]
        bytes = Array(head.joined(separator: "\r\n").utf8) + body
    }

    /// Sends what the socket takes at once, which is all of it on a new connection.
    func send(to client: Int32) {
        // A close with unread bytes would reset the connection before the client reads the answer.
        var request = [UInt8](repeating: 0, count: 4_096)
        _ = recv(client, &request, request.count, Int32(MSG_DONTWAIT))
        _ = Glibc.send(client, bytes, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
    }
}
