import AsyncHTTPClient
import LarderModel
import NIOCore

/// The updates of one fetch.
///
///     for try await update in larder.fetch("https://api.example.com/42") { … }
///
/// Each iteration sends its own request. Leaving the loop closes the connection; the daemon may
/// finish the fetch for its cache. A stream that ends without ``FetchUpdate/end(_:)`` throws
/// ``LarderError/cutOff``.
public struct FetchFrames: AsyncSequence, Sendable {
    let lines: FrameLines

    /// Asks the daemon at the first call of `next()`.
    public func makeAsyncIterator() -> ClientIterator<FetchUpdate> {
        let client = lines.client
        var received = lines.makeAsyncIterator()
        return ClientIterator { () async throws(LarderError) in
            while let line = try await received.next() {
                if let update = FetchUpdate(line.frame, client: client) { return update }
            }
            return nil
        }
    }
}

/// A step of a fetch.
///
/// A fetch has one snapshot or two, or in place of the second ``unchanged``, ``deleted`` or
/// ``failed(_:)``, and then ``end(_:)``.
public enum FetchUpdate: Sendable {
    /// The state of the URL: first the cached answer, then the answer of the network.
    case snapshot(Snapshot)
    /// The network confirmed the cached snapshot.
    case unchanged
    /// The URL is gone: the origin said so (404 or 410), or an unsent change deletes it.
    case deleted
    /// The network failed after the cached answer, which stays valid.
    case failed(Problem)
    /// The state of the origin has changed; only a followed URL gets this update.
    case origin(OriginFrame)
    /// The last update, with the outcome of the fetch.
    case end(FetchOutcome)
}

extension FetchUpdate {
    /// Nil for a heartbeat or an unknown frame, which programs do not get.
    package init?(_ frame: FetchFrame, client: LarderClient) {
        switch frame {
        case .snapshot(let snapshot): self = .snapshot(Snapshot(snapshot, client: client))
        case .unchanged: self = .unchanged
        case .deleted: self = .deleted
        case .problem(let frame): self = .failed(frame.problem)
        case .origin(let origin): self = .origin(origin)
        case .heartbeat, .other: return nil
        case .end(let end): self = .end(end.outcome)
        }
    }
}

/// The lines of one fetch, up to the `end` frame.
///
/// Heartbeats and frame types that this version does not know are left out. Each iterator sends its
/// own request.
package struct FrameLines: AsyncSequence, Sendable {
    let client: LarderClient
    let url: String
    let options: FetchOptions
    /// Whether the stream stays open for further views.
    var follows = false

    package func makeAsyncIterator() -> ClientIterator<FrameLine<FetchFrame>> {
        var run = Run(self)
        return ClientIterator { () async throws(LarderError) in try await run.next() }
    }

    private struct Run {
        private enum State {
            case unsent(FrameLines)
            case reading(FrameReader<FetchFrame>)
            /// `next()` has returned the `end` frame; the rest of the body still has to be read.
            case ended(FrameReader<FetchFrame>)
            case over
        }

        private var state: State

        init(_ lines: FrameLines) { state = .unsent(lines) }

        mutating func next() async throws(LarderError) -> FrameLine<FetchFrame>? {
            let current = state
            state = .over
            var reader: FrameReader<FetchFrame>
            switch current {
            case .unsent(let lines):
                // Only a stream that stays open has heartbeats.
                reader = try await FrameReader(
                    lines.request(),
                    of: lines.client,
                    silence: lines.follows ? lines.options.heartbeat.threeHeartbeats : nil
                )
            case .reading(let open): reader = open
            case .ended(var open):
                await open.drain()
                return nil
            case .over: return nil
            }
            while true {
                let line = try await reader.next()
                switch line.frame {
                case .heartbeat, .other: continue
                case .end: state = .ended(reader)
                case .snapshot, .unchanged, .deleted, .problem, .origin: state = .reading(reader)
                }
                return line
            }
        }
    }

    private func request() throws(LarderError) -> SocketRequest {
        let checked = try LarderError.checking(.badURL, url, WebURL.init(_:))
        var command = FetchCommand(url: checked.text, options: options)
        command.options.account = try client.accountParameter()
        if follows { command.options.follow = true }
        return SocketRequest(sending: command, to: "/v1/fetch")
    }
}

extension LarderClient {
    func accountName(_ name: String? = nil) throws(LarderError) -> AccountName {
        try LarderError.checking(.badRequest, name ?? account, AccountName.init(_:))
    }
}

/// A frame and the line that it came on, without its end.
package struct FrameLine<Frame: Sendable>: Sendable {
    package let bytes: [UInt8]
    package let frame: Frame
}

/// Reads the frames of one answer, a frame a line.
struct FrameReader<Frame: Decodable & Sendable> {
    private let body: AnswerBody
    private var splitter = LineSplitter()
    /// Kept because the connection closes when the client is released.
    private let client: LarderClient

    /// `silence` is the longest time without a byte of the body, after which the connection counts
    /// as lost; nil: the daemon may be silent for any time.
    init(
        _ request: SocketRequest,
        of client: LarderClient,
        silence: Duration? = nil
    ) async throws(LarderError) {
        body = AnswerBody(try await client.connection.send(request), silence: silence)
        self.client = client
    }

    /// The next frame of any type; throws ``LarderError/cutOff`` if the answer ends.
    mutating func next() async throws(LarderError) -> FrameLine<Frame> {
        while true {
            if let bytes = try splitter.next() {
                do throws(APIDecodingError) {
                    let frame = try APIDecoder(.lenient).decode(Frame.self, from: bytes)
                    return FrameLine(bytes: bytes, frame: frame)
                } catch {
                    throw .badAnswer(error.message)
                }
            }
            guard let chunk = try await body.next() else { throw .cutOff }
            splitter.append(chunk)
        }
    }

    /// Reads what follows the last frame, so that the connection can be used again.
    mutating func drain() async {
        // The frames are complete, so an error of the connection does not matter.
        while let chunk = try? await body.next(), !chunk.isEmpty {}
        withExtendedLifetime(client) {}
    }
}

/// The body of an answer, read by the one reader that owns it.
///
/// Not checked: the iterator is used by one call of `next` at a time, as the reader's is mutating.
private final class AnswerBody: @unchecked Sendable {
    private var iterator: HTTPClientResponse.Body.AsyncIterator
    private let silence: Duration?

    init(_ response: HTTPClientResponse, silence: Duration?) {
        iterator = response.body.makeAsyncIterator()
        self.silence = silence
    }

    /// The next bytes; nil at the end; throws ``LarderError/cutOff`` after too long a silence.
    func next() async throws(LarderError) -> ByteBufferView? {
        guard let silence else { return try await iterator.nextChunk() }
        return try await ClientTime.limit(silence, late: .cutOff) { () async throws(LarderError) in
            try await self.iterator.nextChunk()
        }
    }
}

extension Duration? {
    /// The longest silence of a stream with heartbeats at this interval: three of them.
    var threeHeartbeats: Duration { (self ?? Limits.heartbeatTime) * 3 }
}

extension HTTPClientResponse.Body.AsyncIterator {
    /// The next bytes of the body; nil at its end.
    mutating func nextChunk() async throws(LarderError) -> ByteBufferView? {
        do {
            if let buffer = try await next(isolation: #isolation) {
                return buffer.readableBytesView
            }
        } catch {
            throw LarderError(error)
        }
        // A cancelled task's sequence just ends.
        guard !Task.isCancelled else { throw .cancelled }
        return nil
    }
}

/// Cuts a stream of bytes into its lines; blank ones are left out.
struct LineSplitter {
    private var bytes: [UInt8] = []
    /// Index of the first byte that `next()` has not returned.
    private var start = 0
    /// Index up to which `bytes` has no line feed after `start`.
    private var searched = 0

    mutating func append(_ chunk: some Collection<UInt8>) {
        bytes.removeFirst(start)
        searched -= start
        start = 0
        bytes.append(contentsOf: chunk)
    }

    /// The next whole line without its end; nil until more bytes are here.
    mutating func next() throws(LarderError) -> [UInt8]? {
        while let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) {
            let line = bytes[start..<end]
            start = end + 1
            searched = start
            guard line.allSatisfy({ $0 == UInt8(ascii: "\r") }) else { return Array(line) }
        }
        searched = bytes.endIndex
        guard searched - start <= Limits.frameBytesMax else {
            throw .badAnswer("a line of more than \(Limits.frameBytesMax) bytes")
        }
        return nil
    }
}

/// Metadata of an entry, without its bytes.
public struct EntryMetadata: Equatable, Sendable {
    /// Id of the entry.
    public let id: String
    /// Content-Type of the bytes.
    public let mediaType: String?
    /// Number of bytes; nil if the daemon did not say.
    public let byteCount: Int?
    /// The origin's ETag, or one that the daemon made.
    public let etag: String?
    /// The origin's Last-Modified, as it spelled it.
    public let lastModified: String?
    /// Time since the origin gave or confirmed the entry, in whole seconds.
    public let age: Duration?
    /// The daemon's number of the step that last changed the bytes.
    public let revision: Int64?
    /// Number of unsent changes of this device that the entry shows.
    public let pending: Int
    /// Number of changes of this device that failed on the entry.
    public let failed: Int
    /// Whether all parts of the entry are still cached.
    public let isComplete: Bool
    /// The Cache-Status field (RFC 9211).
    public let cacheStatus: String?

    init(id: EntryID, response: HTTPClientResponse) {
        self.id = id.description
        mediaType = response.text("Content-Type")
        byteCount = response.integer("Content-Length")
        etag = response.text("ETag")
        lastModified = response.text("Last-Modified")
        age = response.integer("Age").map { Duration.seconds($0 as Int64) }
        revision = response.integer("Larder-Rev")
        pending = response.integer("Larder-Pending") ?? 0
        failed = response.integer("Larder-Failed") ?? 0
        isComplete = response.text("Larder-Complete") != "false"
        cacheStatus = response.text("Cache-Status")
    }
}

/// An entry with all its bytes in memory.
public struct CachedEntry: Equatable, Sendable {
    /// Metadata of the entry.
    public let metadata: EntryMetadata
    /// Exact bytes of the entry.
    public let bytes: [UInt8]
}

/// An entry whose bytes arrive as a stream.
public struct StreamedEntry: Sendable {
    /// Metadata of the entry.
    public let metadata: EntryMetadata
    /// Exact bytes of the entry; iterate them once.
    public let chunks: EntryChunks
}

/// A decoded entity with its metadata.
public struct TypedEntity<Value: Sendable>: Sendable {
    /// The value.
    public let value: Value
    /// Metadata of the entity.
    public let metadata: EntryMetadata
}
