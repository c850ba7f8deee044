import AsyncHTTPClient
import LarderModel
package import LarderWire
import NIOCore

/// A frame and the line that it came on, without its end.
package struct FrameLine: Sendable {
    package let bytes: [UInt8]
    package let frame: FetchFrame
}

/// The lines of one fetch, to the `end` frame, without heartbeats and without types of frames that
/// this version does not know; each iterator makes a request of its own.
package struct FrameLines: AsyncSequence, Sendable {
    let client: LarderClient
    let url: String
    let options: FetchOptions
    /// Whether the stream stays open for further views.
    var follows = false

    package func makeAsyncIterator() -> Iterator {
        Iterator(self)
    }

    package struct Iterator: AsyncIteratorProtocol {
        private enum State {
            case unsent(FrameLines)
            case reading(HTTPClientResponse.Body.AsyncIterator, LineSplitter, LarderClient)
            /// The `end` frame was given out; what follows belongs to the connection.
            case ended(HTTPClientResponse.Body.AsyncIterator, LarderClient)
            case over
        }

        private var state: State

        init(_ lines: FrameLines) {
            state = .unsent(lines)
        }

        package mutating func next() async throws(LarderError) -> FrameLine? {
            switch state {
            case .unsent(let lines):
                state = .over
                let response = try await lines.client.connection.send(lines.request())
                let body = response.body.makeAsyncIterator()
                return try await read(body, LineSplitter(), lines.client)
            case .reading(let body, let splitter, let client):
                state = .over
                return try await read(body, splitter, client)
            case .ended(let body, let client):
                state = .over
                await drain(body, client)
                return nil
            case .over:
                return nil
            }
        }

        package mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(LarderError) -> FrameLine? {
            try await next()
        }

        private mutating func read(
            _ body: consuming HTTPClientResponse.Body.AsyncIterator,
            _ splitter: consuming LineSplitter,
            _ client: LarderClient
        ) async throws(LarderError) -> FrameLine? {
            var body = body
            var splitter = splitter
            while true {
                if let bytes = try splitter.next() {
                    let frame = try LarderError.decodingFrame { () throws(WireError) in
                        try FetchFrame(line: bytes)
                    }
                    guard let frame else { continue }
                    switch frame {
                    case .end: state = .ended(body, client)
                    case .heartbeat: continue
                    case .snapshot, .unchanged, .deleted, .error, .origin:
                        state = .reading(body, splitter, client)
                    }
                    return FrameLine(bytes: bytes, frame: frame)
                }
                guard let chunk = try await body.nextChunk() else { throw .cutOff }
                splitter.append(chunk)
            }
        }

        /// Reads the end of the answer, so that the connection can be used again.
        private func drain(
            _ body: consuming HTTPClientResponse.Body.AsyncIterator,
            _ client: LarderClient
        ) async {
            var body = body
            // The fetch has ended well; a connection that breaks now is nobody's loss.
            while let chunk = try? await body.nextChunk(), !chunk.isEmpty {}
            withExtendedLifetime(client) {}
        }
    }

    private func request() throws(LarderError) -> SocketRequest {
        let account = try client.accountName()
        let url = try LarderError.checking(.badURL) { () throws(ModelError) -> WebURL in
            try WebURL(self.url)
        }
        var command = options.command(url: url, account: account)
        command.follows = follows
        return SocketRequest(posting: command.encodedJSON(), to: "/v1/fetch")
    }
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

extension LarderClient {
    func accountName() throws(LarderError) -> AccountName {
        try LarderError.checking(.badRequest) { () throws(ModelError) in
            try AccountName(account)
        }
    }
}
