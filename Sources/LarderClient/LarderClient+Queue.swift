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

    /// Takes a modifier back, and with it those that depend on it; a dead one is dropped.
    ///
    /// - Parameters:
    ///   - id: Its name.
    ///   - mayDrop: Whether a dead one is dropped; else it is refused as settled.
    ///   - scope: Whose it is.
    /// - Throws: ``LarderError/tooLate(_:)`` where bytes of it may have left, or it is settled;
    ///   ``LarderError/miss(_:)`` where there is none of this name.
    public func cancelModifier(
        _ id: String,
        dropping mayDrop: Bool = true,
        scope: EntryScope = .own
    ) async throws(LarderError) {
        try await removeModifier(id, ["drop": mayDrop ? nil : "false"], scope)
    }

    /// Gives a modifier up that may have reached the server: it becomes a dead one, and what the
    /// server has is asked for again.
    ///
    /// - Parameters:
    ///   - id: Its name.
    ///   - scope: Whose it is.
    /// - Throws: ``LarderError/tooLate(_:)`` while it is being sent, or after it was settled;
    ///   ``LarderError/miss(_:)`` where there is none of this name.
    public func discardModifier(
        _ id: String,
        scope: EntryScope = .own
    ) async throws(LarderError) {
        try await removeModifier(id, ["discard": "true"], scope)
    }

    /// Has a modifier sent again as soon as it is its turn: one that is dead, or waits for its next
    /// attempt, a decision or a credential.
    ///
    /// A dead one takes its place behind all others.
    ///
    /// - Parameters:
    ///   - id: Its name.
    ///   - scope: Whose it is.
    /// - Returns: How it stands with it then.
    /// - Throws: ``LarderError/tooLate(_:)`` while it is being sent, or after it was confirmed or
    ///   cancelled; ``LarderError/miss(_:)`` where there is none of this name.
    @discardableResult
    public func retryModifier(
        _ id: String,
        scope: EntryScope = .own
    ) async throws(LarderError) -> ModifierReceipt {
        let path = PercentCoding.modifierPath(try modifierID(id)) + "/retry"
        let target = try scopedTarget(path, scope)
        return try await connection.send(
            SocketRequest(.POST, target, timeLimit: Limits.reportTime)
        )
    }

    /// Sends nothing of a lane until it is resumed, also after the daemon was started anew.
    ///
    /// - Parameters:
    ///   - lane: `name:NAME`, `id:ID`, `key:ORIGIN/KEY`.
    ///   - scope: Whose.
    /// - Throws: ``LarderError/notPermitted(_:)`` for others' lanes.
    public func pauseLane(
        _ lane: String,
        scope: EntryScope = .own
    ) async throws(LarderError) {
        try await setLane(lane, "pause", scope)
    }

    /// Sends what waits in a lane that was paused.
    ///
    /// - Parameters:
    ///   - lane: `name:NAME`, `id:ID`, `key:ORIGIN/KEY`.
    ///   - scope: Whose.
    /// - Throws: ``LarderError/notPermitted(_:)`` for others' lanes.
    public func resumeLane(
        _ lane: String,
        scope: EntryScope = .own
    ) async throws(LarderError) {
        try await setLane(lane, "resume", scope)
    }

    private func removeModifier(
        _ id: String,
        _ parameters: KeyValuePairs<String, String?>,
        _ scope: EntryScope
    ) async throws(LarderError) {
        let path = try modifierTarget(id, parameters, scope)
        _ = try await connection.report(SocketRequest(.DELETE, path, timeLimit: Limits.reportTime))
    }

    private func setLane(
        _ lane: String,
        _ step: String,
        _ scope: EntryScope
    ) async throws(LarderError) {
        let checked = try LarderError.checking(.badRequest) { () throws(ModelError) in
            try Lane(lane)
        }
        let path = try scopedTarget(PercentCoding.lanePath(checked, step), scope)
        _ = try await connection.report(SocketRequest(.POST, path, timeLimit: Limits.reportTime))
    }
}
