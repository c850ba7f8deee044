import LarderAPI
import LarderModel
import LarderWire

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
            case reading(FrameReader<FetchFrame>)
            /// The `end` frame was given out; what follows belongs to the connection.
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
        let checked = try LarderError.checking(.badURL) { () throws(ModelError) in
            try WebURL(url)
        }
        var command = FetchCommand(url: checked.text, options: options)
        command.options.account = try client.accountParameter()
        if follows { command.options.follow = true }
        return SocketRequest(posting: APIEncoder().encode(command), to: "/v1/fetch")
    }
}

extension LarderClient {
    func accountName() throws(LarderError) -> AccountName {
        try LarderError.checking(.badRequest) { () throws(ModelError) in
            try AccountName(account)
        }
    }
}
