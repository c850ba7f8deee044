import LarderModel
import LarderWire
import NIOHTTP1

extension LarderClient {
    /// Writes, whether there is a network or not.
    ///
    ///     let url = "https://api.example.com/articles/42"
    ///     try await larder.write(Modifier(.merge(["liked": true]), on: url))
    ///
    /// When it returns, the modifier is on disk, and its changes show wherever its targets are
    /// read. The daemon sends it as soon as it can, in its turn, whether or not the program still
    /// runs. If the server refuses it, its targets show what the server said last, and what else is
    /// to be sent; it is then ``ModifierState/dead``.
    ///
    /// - Parameter modifier: What to change and to send.
    /// - Returns: Its name, and how it stands with it.
    /// - Throws: ``LarderError/unknownOrigin(_:)`` for a request to a host that the daemon has no
    ///   origin for, ``LarderError/invalid(_:)`` for what cannot be, ``LarderError/unavailable(_:)``
    ///   where there is no room for it. Nothing was written then.
    @discardableResult
    public func write(_ modifier: Modifier) async throws(LarderError) -> ModifierReceipt {
        try await submit(modifier.of(try accountName(), time))
    }

    /// The same for several: all of them are accepted, in this order, or none.
    ///
    /// - Parameter modifiers: 1 to 1,000.
    /// - Returns: One for each, in their order.
    /// - Throws: As ``write(_:)``.
    @discardableResult
    public func write(all modifiers: [Modifier]) async throws(LarderError) -> [ModifierReceipt] {
        let account = try accountName()
        let command = LarderAPI.ModifiersCommand(modifiers: modifiers.map { $0.of(account, time) })
        let receipts: Page<ModifierReceipt> = try await submit(command)
        return receipts.items
    }

    /// Writes, and waits a while for what comes of it.
    ///
    /// - Parameters:
    ///   - modifier: What to change and to send.
    ///   - wait: How long to wait until it is settled, an hour at most.
    /// - Returns: How it stands with it, settled or not.
    /// - Throws: As ``write(_:)``: only where it was not accepted. What the server
    ///   refused is returned.
    public func write(
        _ modifier: Modifier,
        waitingFor wait: Duration
    ) async throws(LarderError) -> ModifierReport {
        try await submit(modifier.of(try accountName(), time), waitingFor: wait)
    }

    /// How it stands with a modifier, and what it changes.
    ///
    /// - Parameters:
    ///   - id: Its name.
    ///   - wait: How long to wait until it is settled, an hour at most; nil does not.
    ///   - scope: Whose it is; ``EntryScope/all`` names no one's and is refused.
    /// - Returns: What is known of it, also for some time after it was settled.
    /// - Throws: ``LarderError/miss(_:)`` where there is none of this name.
    public func modifier(
        _ id: String,
        waitingFor wait: Duration? = nil,
        scope: EntryScope = .own
    ) async throws(LarderError) -> ModifierReport {
        let path = PercentCoding.modifierPath(try modifierID(id))
        var query = ModifierQuery()
        (query.wait, query.rows) = (wait, try rows(of: scope))
        // While it waits, the daemon keeps the deadline.
        let timeLimit = wait == nil ? Limits.reportTime : nil
        let target = socketTarget(path, query)
        return try await connection.send(SocketRequest(.GET, target, timeLimit: timeLimit))
    }

    /// Modifiers in the order in which they were accepted, asked for page by page.
    ///
    ///     for try await modifier in larder.modifiers() { show(modifier) }
    ///
    /// - Parameters:
    ///   - selection: Which.
    ///   - lane: Only those of a lane: `name:NAME`, `id:ID`.
    ///   - scope: Whose.
    /// - Returns: All of them; nothing is asked before they are iterated.
    public func modifiers(
        _ selection: ModifierSelection = .open,
        lane: String? = nil,
        scope: EntryScope = .own
    ) -> Pages<ModifierReport> {
        Pages { cursor throws(LarderError) in
            let page = try await self.modifiers(
                selection,
                lane: lane,
                limit: Limits.pageRowsMax,
                cursor: cursor,
                scope: scope
            )
            return (page.items, page.next)
        }
    }

    /// One page of modifiers.
    ///
    /// - Parameters:
    ///   - selection: Which.
    ///   - lane: Only those of a lane: `name:NAME`, `id:ID`.
    ///   - limit: Modifiers in the page, 1 to 1,000.
    ///   - cursor: `next` of the page before.
    ///   - scope: Whose.
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
    /// Writes under the names that all of them have; where the answer is cut off once more, which
    /// the daemon takes for the same write.
    private func submit<Answer: Decodable & Sendable>(
        _ command: some Encodable,
        waitingFor wait: Duration? = nil
    ) async throws(LarderError) -> Answer {
        var query = WaitQuery()
        query.wait = wait
        let request = SocketRequest(
            posting: command,
            to: socketTarget("/v1/modifiers", query)
        )
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
        // While it waits, the daemon keeps the deadline.
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
    /// What failed for good is not waited for; what waits for a person is.
    ///
    /// - Parameters:
    ///   - limit: How long at most; nil: as long as it takes.
    ///   - scope: Whose modifiers.
    /// - Returns: Whether nothing is left.
    /// - Throws: Why there is no answer.
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

    /// Retries, cancels, drops or discards a modifier.
    ///
    /// - Parameters:
    ///   - action: What is done.
    ///   - id: Id of the modifier.
    ///   - scope: Whose it is.
    /// - Returns: Its state then; nil if it is forgotten.
    /// - Throws: ``LarderError/tooLate(_:)`` where bytes of it may have left, or it is settled;
    ///   ``LarderError/miss(_:)`` where there is none of this id.
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
    ///   - action: What is done.
    ///   - state: Which.
    ///   - origin: Only those that go to this origin.
    ///   - scope: Whose.
    /// - Returns: The result for each, page by page; nothing is done before they are iterated.
    public func act(
        _ action: ModifierAction,
        onModifiersIn state: LarderAPI.ModifierState,
        of origin: String? = nil,
        scope: EntryScope = .own
    ) -> Pages<ModifierActionResult> {
        Pages { cursor throws(LarderError) in
            var command = ModifierActionCommand(action, state: state, origin: origin)
            command.cursor = cursor
            let page = try await self.act(command, scope)
            return (page.items, page.next)
        }
    }

    private func act(
        _ command: ModifierActionCommand,
        _ scope: EntryScope
    ) async throws(LarderError) -> Page<ModifierActionResult> {
        var command = command
        command.rows = try rows(of: scope)
        // Each is on disk before the daemon answers.
        let path = "/v1/modifiers/actions"
        return try await connection.send(
            SocketRequest(posting: command, to: path)
        )
    }

    /// Pauses a lane, also across restarts of the daemon, or resumes it.
    ///
    /// - Parameters:
    ///   - lane: `name:NAME` or `id:ID`.
    ///   - isPaused: Whether nothing of it is sent.
    ///   - scope: Whose.
    /// - Throws: ``LarderError/notPermitted(_:)`` for others' lanes.
    public func setLane(
        _ lane: String,
        paused isPaused: Bool,
        scope: EntryScope = .own
    ) async throws(LarderError) {
        let checked = try LarderError.checking(.badRequest, lane, Lane.init(given:))
        var request = SocketRequest(
            posting: LaneCommand(paused: isPaused),
            to: socketTarget(PercentCoding.lanePath(checked), try rows(of: scope)),
            timeLimit: Limits.reportTime
        )
        request.method = .PUT
        _ = try await connection.report(request)
    }

    /// The lanes that are paused.
    ///
    /// - Parameter scope: Whose.
    /// - Returns: Each lane with its user and account.
    /// - Throws: ``LarderError/notPermitted(_:)`` for others' lanes.
    public func pausedLanes(scope: EntryScope = .own) async throws(LarderError) -> [LaneItem] {
        let request = SocketRequest(getting: "/v1/lanes", try rows(of: scope))
        return try await connection.send(request, answer: Page<LaneItem>.self).items
    }
}

/// Which modifiers a list is of.
public enum ModifierSelection: Equatable, Sendable {
    /// Those that are to be sent or answered, and those that failed for good.
    case open
    /// Those that are to be sent or answered.
    case unsettled
    /// The history, the latest first.
    case settled
    /// Those in one state.
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
