import LarderWire
import NIOHTTP1

/// The frames of a watch, one a line, over as many connections as the watch needs; frames of types
/// that this version does not know are passed over.
///
/// It comes back with the last revision that it has seen, so nothing is missed; where the daemon
/// does not know that far back any more, that is told. Told again is only what a break has cut in
/// two: a step behind a frame with `more`, and a list of what there is before its `initial_done`.
package struct WatchLines: AsyncSequence, Sendable {
    /// An event, and of a frame the line that it came on.
    package typealias Element = (event: WatchEvent, line: [UInt8])

    let client: LarderClient
    let command: WatchCommand

    package func makeAsyncIterator() -> Iterator {
        Iterator(self)
    }

    package struct Iterator: AsyncIteratorProtocol {
        private enum State {
            /// There is no stream; one is begun after the pause.
            case apart(pause: Duration?)
            case reading(FrameReader<WatchFrame>)
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
                    case .reading(let reader):
                        if let element = try await read(reader) { return element }
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
            command.options.account = try lines.client.accountParameter()
            var request = SocketRequest(posting: command, to: "/v1/watch")
            request.headers.add(name: "Accept", value: FrameFormat.jsonLines.mediaType)
            state = .reading(try await FrameReader(request, of: lines.client))
        }

        /// The next frame; nil where the stream has said its end.
        private mutating func read(
            _ open: FrameReader<WatchFrame>
        ) async throws(LarderError) -> Element? {
            var reader = open
            while true {
                let line = try await reader.next()
                plan.streamSpoke()
                if let revision = line.frame.revision {
                    command.since = revision
                    command.options.initial = nil
                }
                switch line.frame {
                case .lagged:
                    // The log has the changes that were dropped.
                    state = .apart(pause: nil)
                    return nil
                case .heartbeat, .other: continue
                case .end: throw .cutOff
                case .put, .delete, .evict, .modifier, .origin, .auth, .bookmark:
                    state = .reading(reader)
                    return (.frame(line.frame), line.bytes)
                }
            }
        }

        /// What is told of a broken stream; throws what no second try can heal.
        private mutating func broke(_ error: LarderError) throws(LarderError) -> Element? {
            if error.problem?.kind == .sinceTooOld {
                command.since = nil
                command.options.initial = lines.command.options.initial
                state = .apart(pause: nil)
                return (.lost, [])
            }
            switch plan.broke(error, chance: lines.client.time.chance()) {
            case .giveUp: throw error
            case .tryAgain(let pause, let isTold):
                state = .apart(pause: pause)
                return isTold ? (.disconnected(error), []) : nil
            }
        }
    }
}

/// What changes, for as long as it is iterated; see ``LarderClient/LarderClient/watch(_:)``.
public struct WatchEvents: AsyncSequence, Sendable {
    let lines: WatchLines

    /// Asks the daemon at the first call of `next()`.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(lines: lines.makeAsyncIterator())
    }

    /// One watcher.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var lines: WatchLines.Iterator

        /// The next event; it waits until there is one.
        public mutating func next() async throws(LarderError) -> WatchEvent? {
            try await lines.next()?.event
        }

        /// The same, called by `for try await`.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(LarderError) -> WatchEvent? {
            try await next()
        }
    }
}

/// What a watch tells.
public enum WatchEvent: Sendable {
    /// A change, or `bookmark`: everything up to its revision was told.
    case frame(WatchFrame)
    /// The daemon does not know any more what has changed since the last event: whatever the program
    /// holds may be old. It goes on from now.
    case lost
    /// There is no daemon at the moment; told once, and the watch goes on by itself.
    case disconnected(LarderError)
}
