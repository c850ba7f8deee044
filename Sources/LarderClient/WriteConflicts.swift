import LarderModel
import LarderWire

extension LarderClient {
    /// Writes that met a change of another device, those that wait now and each later one.
    ///
    ///     for try await conflict in larder.conflicts {
    ///         try await conflict.resolve(keepsMine(conflict.targets) ? .mine : .theirs)
    ///     }
    ///
    /// Until a person decides, reads show the program's own value, and later writes of the same
    /// targets wait. The sequence holds one of the client's 100 connections and ends with the client.
    public var conflicts: WriteConflicts { WriteConflicts(client: self) }
}

/// A write that met a change of another device, and waits for a decision.
public struct WriteConflict: Sendable {
    /// The value that counts.
    public enum Choice: Sendable {
        /// The write is sent over what the other device wrote, as far as ``targets`` shows that.
        case mine
        /// The write leaves the queue.
        case theirs
    }

    /// The write.
    public let modifier: ModifierReport
    let client: LarderClient

    /// The values in dispute, by targets.
    public var targets: [ModifierConflict] { modifier.conflict ?? [] }

    /// Decides the conflict.
    ///
    /// - Parameter choice: The value that counts.
    /// - Throws: ``LarderError/tooLate(_:)`` or ``LarderError/miss(_:)`` if it is decided already.
    public func resolve(_ choice: Choice) async throws(LarderError) {
        switch choice {
        case .mine: try await client.act(.retry, onModifier: modifier.id)
        case .theirs: try await client.act(.cancel, onModifier: modifier.id)
        }
    }
}

/// The writes that wait for a decision, as they come.
public struct WriteConflicts: AsyncSequence, Sendable {
    let client: LarderClient

    /// Asks the daemon at the first call of `next()`.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(client)
    }

    /// Iterator that holds the connection of one watch.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let client: LarderClient
        private var events: WatchEvents.AsyncIterator
        private var waiting: ArraySlice<ModifierReport> = []
        /// Given already and not decided since: no more than the queue has.
        private var given: Set<String> = []
        private var isListed = false

        init(_ client: LarderClient) {
            self.client = client
            var command = WatchCommand()
            command.options.types = [.modifier]
            events = client.watch(command).makeAsyncIterator()
        }

        /// The next conflict; it waits until there is one.
        public mutating func next() async throws(LarderError) -> WriteConflict? {
            while true {
                if let report = waiting.popFirst() {
                    guard given.insert(report.id).inserted else { continue }
                    return WriteConflict(modifier: report, client: client)
                }
                guard let event = try await events.next() else { return nil }
                switch event {
                case .frame(.modifier(let frame)) where frame.state == .conflict:
                    try await look(at: frame.id)
                case .frame(.modifier(let frame)): given.remove(frame.id)
                case .lost: try await list()
                case .frame, .disconnected: break
                }
                // The watch has begun, so nothing is missed between the list and its frames.
                if !isListed { try await list() }
            }
        }

        /// The same, called by `for try await`.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(LarderError) -> WriteConflict? {
            try await next()
        }

        private mutating func list() async throws(LarderError) {
            var found: [ModifierReport] = []
            var pages = client.modifiers(.state(.conflict)).makeAsyncIterator()
            while let report = try await pages.next() { found.append(report) }
            given.formIntersection(found.map(\.id))
            for report in found { try await look(at: report.id) }
            isListed = true
        }

        /// A list does not tell the values.
        private mutating func look(at id: String) async throws(LarderError) {
            do throws(LarderError) {
                let report = try await client.modifier(id)
                if report.state == .conflict { waiting.append(report) }
            } catch .miss {
                given.remove(id)
            }
        }
    }
}
