import LarderWire
import NIOHTTP1

/// The frames of a watch, one a line, without frame types that this version does not know.
///
/// After a break the iterator connects with the last revision that it has seen, so no change is
/// missed. If the daemon no longer has the changes since that revision, or the initial list was cut
/// off, the iterator gives ``WatchEvent/lost``, and then the entries that exist. After three
/// heartbeats without a byte it connects again. Frames come again only after a break in two places:
///
/// - within a step, after a frame with `more`;
/// - within the initial list, before `initial_done`.
package struct WatchLines: AsyncSequence, Sendable {
    /// An event, with the line of its frame; the line is empty for an event without a frame.
    package typealias Element = (event: WatchEvent, line: [UInt8])

    let client: LarderClient
    let command: WatchCommand

    package func makeAsyncIterator() -> ClientIterator<Element> {
        var run = Run(self)
        return ClientIterator { () async throws(LarderError) in try await run.next() }
    }

    /// An iteration, which holds the connection of one watch.
    private struct Run {
        private enum State {
            /// There is no stream; the iterator connects after the pause.
            case apart(pause: Duration?)
            case reading(FrameReader<WatchFrame>)
            case over
        }

        private let lines: WatchLines
        private var command: WatchCommand
        private var state = State.apart(pause: nil)
        private var plan = FollowPlan()
        /// Whether the program has a part of the initial list.
        private var isListing = false

        init(_ lines: WatchLines) {
            self.lines = lines
            command = lines.command
        }

        mutating func next() async throws(LarderError) -> Element? {
            while true {
                let current = state
                state = .over
                do throws(LarderError) {
                    switch current {
                    case .over: return nil
                    case .apart(let pause):
                        if let element = try await connect(after: pause) { return element }
                    case .reading(let reader):
                        if let element = try await read(reader) { return element }
                    }
                } catch {
                    if let element = try streamFailed(error) { return element }
                }
            }
        }

        /// Connects; returns the event after a list that was cut off, of which rows may be gone.
        private mutating func connect(
            after pause: Duration?
        ) async throws(LarderError) -> Element? {
            if let pause { try await lines.client.time.wait(pause) }
            command.options.account = try lines.client.accountParameter()
            var request = SocketRequest(sending: command, to: "/v1/watch")
            request.headers.add(name: "Accept", value: FrameFormat.jsonLines.mediaType)
            let silence = command.options.heartbeat.threeHeartbeats
            state = .reading(try await FrameReader(request, of: lines.client, silence: silence))
            defer { isListing = false }
            return isListing ? (.lost, []) : nil
        }

        /// The next frame; nil after `lagged`, when the iterator must connect again.
        private mutating func read(
            _ open: FrameReader<WatchFrame>
        ) async throws(LarderError) -> Element? {
            var reader = open
            while true {
                let line = try await reader.next()
                plan.streamSpoke()
                if case .bookmark(let mark) = line.frame, mark.initialDone == true {
                    command.options.initial = nil
                }
                // A list that is cut off is requested again, so nothing before its end counts.
                if command.options.initial != true, let revision = line.frame.revision {
                    command.since = revision
                }
                switch line.frame {
                case .lagged:
                    // The log has the changes that were dropped.
                    state = .apart(pause: nil)
                    return nil
                case .heartbeat, .other: continue
                case .end: throw .cutOff
                case .put, .delete, .evict, .modifier, .remapped, .origin, .auth, .prefetch,
                    .bookmark:
                    isListing = command.options.initial == true
                    state = .reading(reader)
                    return (.frame(line.frame), line.bytes)
                }
            }
        }

        /// The event for a broken stream, if the program gets one; throws permanent errors.
        private mutating func streamFailed(_ error: LarderError) throws(LarderError) -> Element? {
            if error.problem?.kind == .sinceTooOld, command.since != nil {
                command.since = nil
                command.options.initial = true
                state = .apart(pause: nil)
                return (.lost, [])
            }
            switch plan.streamFailed(error, randomUnit: lines.client.time.randomUnit()) {
            case .giveUp: throw error
            case .tryAgain(let pause, let isTold):
                state = .apart(pause: pause)
                return isTold ? (.disconnected(error), []) : nil
            }
        }
    }
}

/// The events of a watch; see ``LarderClient/LarderClient/watch(_:)``.
public struct WatchEvents: AsyncSequence, Sendable {
    let lines: WatchLines

    /// Asks the daemon at the first call of `next()`.
    public func makeAsyncIterator() -> ClientIterator<WatchEvent> {
        var received = lines.makeAsyncIterator()
        return ClientIterator { () async throws(LarderError) in
            try await received.next()?.event
        }
    }
}

/// An event of a watch.
public enum WatchEvent: Sendable {
    /// A change, or `bookmark`: the watch has given everything up to its revision.
    case frame(WatchFrame)
    /// The daemon no longer has the changes since the last event, or the list of entries was cut
    /// off. So the program's state may be old.
    ///
    /// The entries that exist follow, as frames with `initial`, up to a bookmark with
    /// `initialDone`.
    case lost
    /// The daemon does not answer; this comes once in each outage, and the watch tries again.
    case disconnected(LarderError)
}
