import Glibc
import Synchronization

/// The events that the connections received.
struct CrowdTold: Sendable {
    /// The number of events by connection and thing; a coalesced event counts as all its parts.
    var events: [[Int: Int]]
    var frames = 0
    /// Frames out of order, repeated, or about a thing that the connection does not watch.
    ///
    /// A frame is out of order if its revision is below the last one of the connection. It is
    /// repeated if its revision is not above the last one of its thing.
    var doubled = 0
    var lagged = 0
}

/// The events that were told, compared with the events that were due.
struct CrowdVerdict {
    private(set) var due = 0
    private(set) var told = 0
    private(set) var lost = 0
    private(set) var doubled: Int

    init(_ plan: CrowdPlan, _ done: CrowdDone, _ all: CrowdTold) {
        doubled = all.doubled
        for connection in 0..<plan.connections {
            for thing in plan.watched(by: connection) {
                let events = thing == plan.last ? 1 : done.events[thing] ?? 0
                let heard = all.events[connection][thing] ?? 0
                due += events
                told += heard
                lost += max(0, events - heard)
                doubled += max(0, heard - events)
            }
        }
    }
}

/// A thread that reads the events of all connections, until each got the last event.
final class CrowdReader: Sendable {
    /// After this time of silence the missing events count as lost.
    private static let silenceMilliseconds: CInt = 30_000

    private let plan: CrowdPlan
    private let connections: [Connection]
    private let things: [String: Int]
    private let outcome = Mutex(Result<CrowdTold, LoadFailure>.success(CrowdTold(events: [])))

    /// Returns once all connections watch.
    init(_ plan: CrowdPlan, _ socket: String) throws(LoadFailure) {
        self.plan = plan
        var connections: [Connection] = []
        for number in 0..<plan.connections {
            let connection = try Connection(socket)
            let body = plan.command(of: number)
            // Over HTTP/1.0 a stream has only its lines, without chunks.
            try connection.send(
                Array(
                    """
                    POST /v1/watch HTTP/1.0\r\nHost: larder\r\n\
                    Content-Length: \(body.utf8.count)\r\n\r\n\(body)
                    """.utf8
                )
            )
            var lines = LineBuffer()
            while try lines.take(connection)?.contains("\"bookmark\"") != true {}
            connections.append(connection)
        }
        self.connections = connections
        var things: [String: Int] = [:]
        for thing in 0...plan.last { things[plan.name(thing)] = thing }
        self.things = things
    }

    func start() -> pthread_t {
        startThread { [self] in
            let result: Result<CrowdTold, LoadFailure>
            do throws(LoadFailure) {
                result = .success(try run())
            } catch {
                result = .failure(error)
            }
            outcome.withLock { $0 = result }
        }
    }

    func result() throws(LoadFailure) -> CrowdTold { try outcome.withLock { $0 }.get() }

    private func run() throws(LoadFailure) -> CrowdTold {
        var told = CrowdTold(events: Array(repeating: [:], count: connections.count))
        var buffers = connections.map { _ in LineBuffer() }
        var revisions = connections.map { _ in Revisions() }
        var waiting = connections.map {
            pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0)
        }
        let watched = connections.indices.map(plan.watched)
        var left = connections.count
        while left > 0 {
            let ready = poll(&waiting, nfds_t(waiting.count), Self.silenceMilliseconds)
            guard ready > 0 else { break }
            for number in waiting.indices where waiting[number].revents != 0 {
                try buffers[number].fill(connections[number])
                while let line = buffers[number].next() {
                    guard let frame = CrowdFrame(line) else {
                        if line.contains("\"lagged\"") { told.lagged += 1 }
                        continue
                    }
                    told.frames += 1
                    let thing = things[frame.name] ?? -1
                    let isNew = revisions[number].take(frame.revision, of: thing)
                    if !isNew || !watched[number].contains(thing) { told.doubled += 1 }
                    told.events[number][thing, default: 0] += frame.count
                    guard thing == plan.last else { continue }
                    waiting[number].fd = -1
                    left -= 1
                }
                if buffers[number].isAtEnd, waiting[number].fd >= 0 {
                    waiting[number].fd = -1
                    left -= 1
                }
            }
        }
        return told
    }
}

/// The last revisions of a connection, in all and of each thing.
private struct Revisions {
    private var last = 0
    private var things: [Int: Int] = [:]

    /// False if the revision is not new.
    mutating func take(_ revision: Int, of thing: Int) -> Bool {
        let isNew = revision >= last && revision > things[thing] ?? 0
        last = max(last, revision)
        things[thing] = revision
        return isNew
    }
}

/// The parts of a line that count; nil for a line that is not a change.
private struct CrowdFrame {
    let name: String
    let revision: Int
    let count: Int

    init?(_ line: String) {
        func value(of member: String) -> Substring? {
            guard let start = line.firstRange(of: "\"\(member)\":")?.upperBound else { return nil }
            let rest = line[start...]
            return rest.first == "\""
                ? rest.dropFirst().prefix { $0 != "\"" } : rest.prefix { $0.isNumber }
        }
        guard let name = value(of: "id"),
            let revision = value(of: "rev").flatMap({ Int($0) })
        else { return nil }
        self.name = String(name)
        self.revision = revision
        count = value(of: "coalesced").flatMap { Int($0) } ?? 1
    }
}

/// Lines of a connection.
private struct LineBuffer {
    private var bytes: [UInt8] = []
    private var start = 0
    private(set) var isAtEnd = false

    /// Reads the available bytes.
    mutating func fill(_ connection: Connection) throws(LoadFailure) {
        bytes.removeFirst(start)
        start = 0
        let piece = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
            count = max(0, read(connection.descriptor, buffer.baseAddress, buffer.count))
        }
        isAtEnd = piece.isEmpty
        bytes += piece
    }

    /// The next whole line.
    mutating func next() -> String? {
        guard let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        defer { start = end + 1 }
        return String(decoding: bytes[start..<end], as: UTF8.self)
    }

    /// The next whole line, after reading if necessary.
    mutating func take(_ connection: Connection) throws(LoadFailure) -> String? {
        while true {
            if let line = next() { return line }
            try fill(connection)
            guard !isAtEnd else { throw .closed }
        }
    }
}
