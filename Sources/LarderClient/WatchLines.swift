import AsyncHTTPClient
import LarderModel
package import LarderWire
import NIOHTTP1

/// The frames of a watch, one a line, over as many connections as the watch needs; frames of types
/// that this version does not know are passed over.
///
/// It comes back with the last revision that it has seen, so nothing is missed; where the daemon
/// does not know that far back any more, that is told. Told again is only what a break has cut in
/// two: a step behind a frame with `more`, and a list of what there is before its `initial_done`.
package struct WatchLines: AsyncSequence, Sendable {
    package enum Element: Sendable {
        case frame(WatchFrame, line: [UInt8])
        /// The changes since the last line are not known any more; it goes on from now.
        case lost
        case disconnected(LarderError)
    }

    let client: LarderClient
    let command: WatchCommand

    package func makeAsyncIterator() -> Iterator {
        Iterator(self)
    }

    package struct Iterator: AsyncIteratorProtocol {
        private enum State {
            /// There is no stream; one is begun after the pause.
            case apart(pause: Duration?)
            case reading(HTTPClientResponse.Body.AsyncIterator, LineSplitter)
            case over
        }

        private let lines: WatchLines
        private var command: WatchCommand
        private var state = State.apart(pause: nil)
        private var plan = FollowPlan()

        init(_ lines: WatchLines) {
            self.lines = lines
            command = lines.command
        }

        package mutating func next() async throws(LarderError) -> Element? {
            while true {
                let current = state
                state = .over
                do throws(LarderError) {
                    switch current {
                    case .over: return nil
                    case .apart(let pause): try await connect(after: pause)
                    case .reading(let body, let splitter):
                        if let element = try await read(body, splitter) { return element }
                    }
                } catch {
                    if let element = try broke(error) { return element }
                }
            }
        }

        package mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(LarderError) -> Element? {
            try await next()
        }

        private mutating func connect(after pause: Duration?) async throws(LarderError) {
            if let pause {
                do throws(CancellationError) {
                    try await lines.client.time.pause(pause)
                } catch {
                    throw .cancelled
                }
            }
            command.account = try lines.client.accountName()
            var request = SocketRequest(posting: command.encodedJSON(), to: "/v1/watch")
            request.headers.add(name: "Accept", value: FrameFormat.jsonLines.mediaType)
            let response = try await lines.client.connection.send(request)
            state = .reading(response.body.makeAsyncIterator(), LineSplitter())
        }

        /// The next frame; nil where the stream has said its end.
        private mutating func read(
            _ body: HTTPClientResponse.Body.AsyncIterator,
            _ splitter: LineSplitter
        ) async throws(LarderError) -> Element? {
            var (body, splitter) = (body, splitter)
            while true {
                if let line = try splitter.next() {
                    let frame = try LarderError.decodingFrame { () throws(WireError) in
                        try WatchFrame(line: line)
                    }
                    plan.streamSpoke()
                    guard let frame else { continue }
                    note(frame)
                    switch frame {
                    case .lagged:
                        // What was dropped stands in the log.
                        state = .apart(pause: nil)
                        return nil
                    case .heartbeat: continue
                    case .end: throw .cutOff
                    case .put, .delete, .evict, .modifier, .origin, .auth, .bookmark:
                        state = .reading(body, splitter)
                        return .frame(frame, line: line)
                    }
                }
                guard let chunk = try await body.nextChunk() else { throw .cutOff }
                splitter.append(chunk)
            }
        }

        private mutating func note(_ frame: WatchFrame) {
            guard let revision = frame.resumption else { return }
            command.since = revision
            command.listsFirst = false
        }

        /// What is told of a broken stream; throws what no second try can heal.
        private mutating func broke(_ error: LarderError) throws(LarderError) -> Element? {
            if error.problem?.kind == .sinceTooOld {
                command.since = nil
                command.listsFirst = lines.command.listsFirst
                state = .apart(pause: nil)
                return .lost
            }
            switch plan.broke(error, chance: lines.client.time.chance()) {
            case .giveUp: throw error
            case .tryAgain(let pause, let isTold):
                state = .apart(pause: pause)
                return isTold ? .disconnected(error) : nil
            }
        }
    }
}
