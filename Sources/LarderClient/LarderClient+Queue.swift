public import LarderAPI
import LarderModel
import LarderWire
import NIOHTTP1

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
            SocketRequest(posting: APIEncoder().encode(command), to: path)
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
        let checked = try LarderError.checking(.badRequest) { () throws(ModelError) in
            try Lane(given: lane)
        }
        var request = SocketRequest(
            posting: APIEncoder().encode(LaneCommand(paused: isPaused)),
            to: try scopedTarget(PercentCoding.lanePath(checked), scope),
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
        let target = try scopedTarget("/v1/lanes", scope)
        let request = SocketRequest(.GET, target, timeLimit: Limits.reportTime)
        return try await connection.send(request, answer: Page<LaneItem>.self).items
    }
}
