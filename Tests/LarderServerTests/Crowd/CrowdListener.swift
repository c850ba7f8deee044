import LarderAPI
import LarderModel
import LarderTestSupport
import LarderWire

/// One of the crowd: watches over a connection, and comes back where it lagged, was cut off or has
/// left, until it has heard the last.
struct CrowdListener: Sendable {
    /// What came over one connection, up to where it comes back.
    struct Part: Sendable {
        enum End: Equatable, Sendable {
            case heardLast
            case lagged
            case left
            /// The connection has ended without a word.
            case cut
        }

        let since: Revision?
        var frames: [WatchFrame] = []
        var end: End?
    }

    struct Fault: Error {
        let answer: String
    }

    let number: Int
    let cancellation: CrowdInterest
    private(set) var parts: [Part] = []
    private let server: ServerFixture
    private var client: RawClient
    private var bytes: [UInt8] = []
    private var hasHeardLast = false
    /// After so many frames it hangs up, and comes back when the gate is open.
    private var leave: (after: Int, until: Gate)?

    /// Returns once it watches.
    init(
        _ number: Int,
        _ cancellation: CrowdInterest,
        at server: ServerFixture,
        since: Revision? = nil,
        leavingAfter leave: (Int, Gate)? = nil
    ) async throws {
        self.number = number
        self.cancellation = cancellation
        self.server = server
        self.leave = leave.map { (after: $0.0, until: $0.1) }
        client = try await server.connect()
        try await begin(since: since)
    }

    /// Over HTTP/1.0, where a stream is its lines and nothing else.
    private mutating func begin(since: Revision?) async throws {
        bytes = []
        parts.append(Part(since: since))
        let body = APIEncoder().encode(cancellation.command(since: since))
        let head = "POST /v1/watch HTTP/1.0\r\nHost: x\r\nContent-Length: \(body.count)\r\n\r\n"
        try await client.send(Array(head.utf8) + body)
        let end = Array("\r\n\r\n".utf8)
        while true {
            let part = try await client.part()
            bytes += part
            let text = String(decoding: bytes, as: UTF8.self)
            guard !part.isEmpty else { throw Fault(answer: text) }
            guard let headEnd = bytes.firstRange(of: end)?.upperBound else { continue }
            guard text.hasPrefix("HTTP/1.0 200 ") else { throw Fault(answer: text) }
            bytes.removeFirst(headEnd)
            break
        }
        // The bookmark that says where it begins, or what it has missed.
        try await take()
    }

    /// Takes what comes next; false at the connection's end.
    @discardableResult
    private mutating func take() async throws -> Bool {
        while true {
            if let end = bytes.lastIndex(of: UInt8(ascii: "\n")) {
                for line in bytes[..<end].split(separator: UInt8(ascii: "\n")) {
                    let frame = try WatchFrame(line: Array(line))
                    parts[parts.count - 1].frames.append(frame)
                    guard case .put(let event) = frame else { continue }
                    if event.id == CrowdInterest.last { hasHeardLast = true }
                }
                bytes.removeFirst(end + 1)
                return true
            }
            let part = try await client.part()
            guard !part.isEmpty else { return false }
            bytes += part
        }
    }

    mutating func listen() async throws {
        while true {
            var end: Part.End? = hasHeardLast ? .heardLast : nil
            if case .lagged = parts[parts.count - 1].frames.last { end = .lagged }
            if end == nil, let leave, parts[0].frames.count >= leave.after { end = .left }
            if end == nil, try await !take() { end = .cut }
            guard let end else { continue }
            let since = over(end)
            await client.hangUp()
            if end == .heardLast { return }
            if end == .left {
                try await leave?.until.wait()
                leave = nil
            }
            client = try await server.connect()
            try await begin(since: since)
        }
    }

    /// The connection is over; what came of a step that is not whole comes again.
    private mutating func over(_ end: Part.End) -> Revision? {
        var part = parts.removeLast()
        part.end = end
        let whole = part.frames.lastIndex { $0.revision != nil }
        part.frames.removeLast(part.frames.count - (whole.map { $0 + 1 } ?? 0))
        parts.append(part)
        return part.frames.last?.resumption ?? part.since
    }
}
