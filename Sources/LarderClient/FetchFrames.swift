import LarderModel

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
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(lines: lines.makeAsyncIterator(), client: lines.client)
    }

    /// Iterator over the updates of one request.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private var lines: FrameLines.Iterator
        private let client: LarderClient

        init(lines: FrameLines.Iterator, client: LarderClient) {
            self.lines = lines
            self.client = client
        }

        /// The next update; nil after the end.
        public mutating func next() async throws(LarderError) -> FetchUpdate? {
            while let line = try await lines.next() {
                if let update = FetchUpdate(line.frame, client: client) { return update }
            }
            return nil
        }

        /// The same, called by `for try await`.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(LarderError) -> FetchUpdate? {
            try await next()
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

    package func makeAsyncIterator() -> Iterator {
        Iterator(self)
    }

    package struct Iterator: AsyncIteratorProtocol {
        private enum State {
            case unsent(FrameLines)
            case reading(FrameReader<FetchFrame>)
            /// `next()` has returned the `end` frame; the rest of the body still has to be read.
            case ended(FrameReader<FetchFrame>)
            case over
        }

        private var state: State

        init(_ lines: FrameLines) {
            state = .unsent(lines)
        }

        package mutating func next() async throws(LarderError) -> FrameLine<FetchFrame>? {
            let current = state
            state = .over
            var reader: FrameReader<FetchFrame>
            switch current {
            case .unsent(let lines):
                reader = try await FrameReader(lines.request(), of: lines.client)
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

        package mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(LarderError) -> FrameLine<FetchFrame>? {
            try await next()
        }
    }

    private func request() throws(LarderError) -> SocketRequest {
        let checked = try LarderError.checking(.badURL, url, WebURL.init(_:))
        var command = FetchCommand(url: checked.text, options: options)
        command.options.account = try client.accountParameter()
        if follows { command.options.follow = true }
        return SocketRequest(posting: command, to: "/v1/fetch")
    }
}

extension LarderClient {
    func accountName(_ name: String? = nil) throws(LarderError) -> AccountName {
        try LarderError.checking(.badRequest, name ?? account, AccountName.init(_:))
    }
}
