import LarderModel
import LarderWire
import NIOHTTP1

extension LarderClient {
    /// Writes, whether there is a network or not.
    ///
    ///     let url = "https://api.example.com/articles/42"
    ///     try await larder.write(Modifier(.merge(["liked": true]), on: url))
    ///
    /// When the call returns, the modifier is on disk, and every read of its targets shows its
    /// changes. The daemon sends the modifier as soon as it can, in order, whether or not the
    /// program still runs. If the server refuses the modifier, its state is ``ModifierState/failed``.
    /// Its targets then show the server's last answer with the other unsent changes.
    ///
    /// - Parameter modifier: The changes and the request.
    /// - Returns: Id and state of the modifier.
    /// - Throws: ``LarderError/unknownOrigin(_:)`` for a request to a host without an origin,
    ///   ``LarderError/invalid(_:)`` for an invalid modifier, ``LarderError/unavailable(_:)`` if
    ///   there is no room. The daemon then wrote nothing.
    @discardableResult
    public func write(_ modifier: Modifier) async throws(LarderError) -> ModifierReceipt {
        try await submit(modifier.of(try accountName(), time))
    }

    /// Writes several modifiers: the daemon accepts all of them, in this order, or none.
    ///
    /// - Parameter modifiers: 1 to 1,000.
    /// - Returns: A receipt for each, in their order.
    /// - Throws: As ``write(_:)``.
    @discardableResult
    public func write(all modifiers: [Modifier]) async throws(LarderError) -> [ModifierReceipt] {
        let account = try accountName()
        let command = LarderAPI.ModifiersCommand(modifiers: modifiers.map { $0.of(account, time) })
        let receipts: Page<ModifierReceipt> = try await submit(command)
        return receipts.items
    }

    /// Writes, and waits for the modifier to settle.
    ///
    /// - Parameters:
    ///   - modifier: The changes and the request.
    ///   - wait: Longest wait until the modifier is settled, at most an hour.
    /// - Returns: The modifier, settled or not. If the server refused it, the report says so.
    /// - Throws: As ``write(_:)``, only if the daemon did not accept the modifier.
    public func write(
        _ modifier: Modifier,
        waitingFor wait: Duration
    ) async throws(LarderError) -> ModifierReport {
        try await submit(modifier.of(try accountName(), time), waitingFor: wait)
    }

    /// Reads the state and the changes of a modifier.
    ///
    /// The daemon keeps a modifier for some time after it is settled. A wait goes on over restarts
    /// of the daemon; the time of a request that was cut off does not count.
    ///
    /// - Parameters:
    ///   - id: Id of the modifier.
    ///   - wait: Longest wait until the modifier is settled, at most an hour; nil: no wait.
    ///   - scope: User of the modifier; ``EntryScope/all`` is refused, as it names no single user.
    /// - Returns: The modifier.
    /// - Throws: ``LarderError/miss(_:)`` if there is no modifier of this id.
    public func modifier(
        _ id: String,
        waitingFor wait: Duration? = nil,
        scope: EntryScope = .own
    ) async throws(LarderError) -> ModifierReport {
        let path = PercentCoding.modifierPath(try modifierID(id))
        var query = ModifierQuery()
        (query.wait, query.rows) = (wait, try rows(of: scope))
        guard let wait else {
            let target = socketTarget(path, query)
            return try await connection.send(
                SocketRequest(.GET, target, timeLimit: Limits.reportTime)
            )
        }
        return try await report(waitingFor: wait) { (rest) throws(LarderError) in
            query.wait = rest
            // The daemon ends the wait, so the client sets no time limit.
            return SocketRequest(.GET, socketTarget(path, query))
        }
    }

    /// Sends a request that waits, and sends it again after a break, while the wait is not over.
    private func report(
        waitingFor wait: Duration,
        _ request: (Duration) throws(LarderError) -> SocketRequest
    ) async throws(LarderError) -> ModifierReport {
        var plan = FollowPlan()
        plan.streamSpoke()
        var rest = wait
        while true {
            do throws(LarderError) {
                return try await connection.send(try request(rest))
            } catch {
                let step = plan.streamFailed(error, randomUnit: time.randomUnit())
                guard rest > .zero, case .tryAgain(let pause, _) = step else { throw error }
                rest = max(.zero, rest - pause)
                try await time.wait(pause)
            }
        }
    }

    /// Lists modifiers in the order in which the daemon accepted them, page by page.
    ///
    ///     for try await modifier in larder.modifiers() { show(modifier) }
    ///
    /// - Parameters:
    ///   - selection: States of the modifiers.
    ///   - lane: Only modifiers of this lane: `name:NAME`, `id:ID`.
    ///   - scope: Users of the modifiers.
    /// - Returns: All of them; the iteration sends the requests.
    public func modifiers(
        _ selection: ModifierSelection = .open,
        lane: String? = nil,
        scope: EntryScope = .own
    ) -> Pages<ModifierReport> {
        Pages { cursor throws(LarderError) in
            try await self.modifiers(
                selection,
                lane: lane,
                limit: Limits.pageRowsMax,
                cursor: cursor,
                scope: scope
            )
        }
    }

    /// Lists one page of modifiers.
    ///
    /// - Parameters:
    ///   - selection: States of the modifiers.
    ///   - lane: Only modifiers of this lane: `name:NAME`, `id:ID`.
    ///   - limit: Modifiers in the page, 1 to 1,000.
    ///   - cursor: `next` of the page before.
    ///   - scope: Users of the modifiers.
    /// - Returns: The page.
    /// - Throws: ``LarderError/notPermitted(_:)`` for others' modifiers.
    public func modifiers(
        _ selection: ModifierSelection = .open,
        lane: String? = nil,
        limit: Int,
        cursor: String? = nil,
        scope: EntryScope = .own
    ) async throws(LarderError) -> Page<ModifierReport> {
        var query = ModifierListQuery()
        query.state = selection.text
        query.lane = lane
        (query.page.limit, query.page.cursor) = (limit, cursor)
        return try await page(query, scope)
    }
}

extension LarderClient {
    /// Posts modifiers, and posts them a second time if the answer is cut off.
    ///
    /// Each modifier has an id, so the daemon accepts the repeated write only once.
    private func submit<Answer: Decodable & Sendable>(
        _ command: some Encodable,
        waitingFor wait: Duration? = nil
    ) async throws(LarderError) -> Answer {
        var query = WaitQuery()
        query.wait = wait
        let request = SocketRequest(sending: command, to: socketTarget("/v1/modifiers", query))
        do throws(LarderError) {
            return try await connection.send(request)
        } catch .cutOff {
            return try await connection.send(request)
        }
    }

    func page(
        _ query: ModifierListQuery,
        _ scope: EntryScope
    ) async throws(LarderError) -> Page<ModifierReport> {
        var query = query
        query.rows = try rows(of: scope)
        let path = socketTarget("/v1/modifiers", query)
        // The daemon ends the wait, so the client sets no time limit.
        let timeLimit = query.wait == nil ? Limits.reportTime : nil
        return try await connection.send(SocketRequest(.GET, path, timeLimit: timeLimit))
    }

    func modifierID(_ text: String) throws(LarderError) -> ModifierID {
        try LarderError.checking(.badRequest, text, ModifierID.init(_:))
    }
}

extension LarderClient {
    /// Waits until nothing is left to be sent or answered.
    ///
    /// The call ignores modifiers that failed permanently. It waits for modifiers that need a
    /// decision of a person.
    ///
    /// - Parameters:
    ///   - limit: Longest wait; nil: no limit.
    ///   - scope: Users of the modifiers.
    /// - Returns: Whether nothing is left.
    /// - Throws: The reason why there is no answer.
    public func waitUntilSent(
        within limit: Duration? = nil,
        scope: EntryScope = .own
    ) async throws(LarderError) -> Bool {
        var query = ModifierListQuery()
        (query.state, query.page.limit) = ("unsettled", 1)
        var rest = limit.map { max(.zero, $0) }
        while true {
            let wait = min(rest ?? Limits.fetchTimeMax, Limits.fetchTimeMax)
            query.wait = wait
            if try await page(query, scope).items.isEmpty { return true }
            guard let left = rest else { continue }
            guard left > wait else { return false }
            rest = left - wait
        }
    }

    /// Replaces the changes and the request of a modifier that the server cannot have applied, or of
    /// one that has failed.
    ///
    ///     for try await failed in larder.modifiers(.state(.failed)) {
    ///         guard var edit = ModifierEdit(failed) else { continue }
    ///         correct(&edit)
    ///         try await larder.edit(failed.id, to: edit)
    ///         try await larder.act(.retry, onModifier: failed.id)
    ///     }
    ///
    /// The modifier keeps its place in the queue. A failed one stays failed until it is retried.
    ///
    /// - Parameters:
    ///   - id: Id of the modifier.
    ///   - edit: All changes and the request from then on; the request goes to the same origin.
    ///   - scope: User of the modifier.
    /// - Returns: Id and state of the modifier.
    /// - Throws: ``LarderError/tooLate(_:)`` if the server may have applied it,
    ///   ``LarderError/miss(_:)`` if there is no modifier of this id, and as ``write(_:)``.
    @discardableResult
    public func edit(
        _ id: String,
        to edit: ModifierEdit,
        scope: EntryScope = .own
    ) async throws(LarderError) -> ModifierReceipt {
        let path = PercentCoding.modifierPath(try modifierID(id))
        let target = socketTarget(path, try rows(of: scope))
        let request = SocketRequest(.PATCH, sending: edit, to: target)
        do throws(LarderError) {
            return try await connection.send(request)
        } catch .cutOff {
            // The same edit again changes nothing.
            return try await connection.send(request)
        }
    }

    /// Retries, cancels, drops or discards a modifier.
    ///
    /// - Parameters:
    ///   - action: The action.
    ///   - id: Id of the modifier.
    ///   - scope: User of the modifier.
    /// - Returns: State after the action; nil if the daemon has removed the modifier.
    /// - Throws: ``LarderError/tooLate(_:)`` if the daemon may have sent bytes of the modifier, or
    ///   if it is settled; ``LarderError/miss(_:)`` if there is no modifier of this id.
    @discardableResult
    public func act(
        _ action: ModifierAction,
        onModifier id: String,
        scope: EntryScope = .own
    ) async throws(LarderError) -> LarderAPI.ModifierState? {
        let command = ModifierActionCommand(action, ids: [try modifierID(id).text])
        guard let result = try await act(command, scope).items.first else {
            throw .badAnswer("nothing is told of '\(id)'")
        }
        if let problem = result.problem { throw LarderError.problem(problem) }
        return result.state
    }

    /// Retries, cancels, drops or discards all modifiers in a state.
    ///
    /// - Parameters:
    ///   - action: The action.
    ///   - state: State of the modifiers.
    ///   - origin: Only modifiers that go to this origin.
    ///   - scope: Users of the modifiers.
    /// - Returns: The result for each, page by page; the iteration sends the requests.
    public func act(
        _ action: ModifierAction,
        onModifiersIn state: LarderAPI.ModifierState,
        of origin: String? = nil,
        scope: EntryScope = .own
    ) -> Pages<ModifierActionResult> {
        Pages { cursor throws(LarderError) in
            var command = ModifierActionCommand(action, state: state, origin: origin)
            command.cursor = cursor
            return try await self.act(command, scope)
        }
    }

    /// Sends a command with any selection; `cachectl` has one with ids.
    package func act(
        _ command: ModifierActionCommand,
        _ scope: EntryScope
    ) async throws(LarderError) -> Page<ModifierActionResult> {
        var command = command
        command.rows = try rows(of: scope)
        // No time limit: the daemon answers when each action is on disk.
        let request = SocketRequest(sending: command, to: "/v1/modifiers/actions")
        return try await connection.send(request)
    }

    /// Pauses a lane, also across restarts of the daemon, or resumes it.
    ///
    /// - Parameters:
    ///   - lane: `name:NAME` or `id:ID`.
    ///   - isPaused: Whether the daemon stops sending modifiers of the lane.
    ///   - scope: User of the lane.
    /// - Throws: ``LarderError/notPermitted(_:)`` for others' lanes.
    public func setLane(
        _ lane: String,
        paused isPaused: Bool,
        scope: EntryScope = .own
    ) async throws(LarderError) {
        let checked = try LarderError.checking(.badRequest, lane, Lane.init(given:))
        let request = SocketRequest(
            .PUT,
            sending: LaneCommand(paused: isPaused),
            to: socketTarget(PercentCoding.lanePath(checked), try rows(of: scope)),
            timeLimit: Limits.reportTime
        )
        _ = try await connection.report(request)
    }

    /// Lists the paused lanes.
    ///
    /// - Parameter scope: Users of the lanes.
    /// - Returns: Each lane with its user and account.
    /// - Throws: ``LarderError/notPermitted(_:)`` for others' lanes.
    public func pausedLanes(scope: EntryScope = .own) async throws(LarderError) -> [LaneItem] {
        let request = SocketRequest(getting: "/v1/lanes", try rows(of: scope))
        return try await connection.send(request, answer: Page<LaneItem>.self).items
    }
}

/// The states of the modifiers that a list contains.
public enum ModifierSelection: Equatable, Sendable {
    /// Modifiers that wait to be sent or answered, and modifiers that failed permanently.
    case open
    /// Modifiers that wait to be sent or answered.
    case unsettled
    /// Settled modifiers, the latest first.
    case settled
    /// Modifiers in this state.
    case state(LarderAPI.ModifierState)
}

extension ModifierSelection {
    var text: String? {
        switch self {
        case .open: nil
        case .unsettled: "unsettled"
        case .settled: "settled"
        case .state(let state): state.rawValue
        }
    }
}

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
        case .theirs: try await client.act(.discard, onModifier: modifier.id)
        }
    }
}

/// The writes that wait for a decision, as they come.
public struct WriteConflicts: AsyncSequence, Sendable {
    let client: LarderClient

    /// Asks the daemon at the first call of `next()`.
    public func makeAsyncIterator() -> ClientIterator<WriteConflict> {
        var run = Run(client)
        return ClientIterator { () async throws(LarderError) in try await run.next() }
    }

    /// An iteration, which holds the connection of one watch.
    private struct Run {
        private let client: LarderClient
        private var events: ClientIterator<WatchEvent>
        private var waiting: ArraySlice<ModifierReport> = []
        /// Given already and not decided since: no more than the queue has.
        private var given: Set<String> = []
        private var isListed = false
        private var hasBegun = false

        init(_ client: LarderClient) {
            self.client = client
            var command = WatchCommand()
            command.options.types = [.modifier]
            events = client.watch(command).makeAsyncIterator()
        }

        mutating func next() async throws(LarderError) -> WriteConflict? {
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
                case .frame: break
                case .lost:
                    // The next watch has not begun.
                    isListed = false
                    continue
                case .disconnected(let error):
                    // A watch that has begun once is tried again.
                    guard hasBegun else { throw error }
                    continue
                }
                // The watch has begun, so nothing is missed between the list and its frames.
                if !isListed { try await list() }
            }
        }

        private mutating func list() async throws(LarderError) {
            var found: [ModifierReport] = []
            var pages = client.modifiers(.state(.conflict)).makeAsyncIterator()
            while let report = try await pages.next() { found.append(report) }
            given.formIntersection(found.map(\.id))
            for report in found { try await look(at: report.id) }
            (isListed, hasBegun) = (true, true)
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
