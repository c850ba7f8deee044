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
    /// to be sent; it is then ``ModifierStatus/State/dead``.
    ///
    /// - Parameter modifier: What to change and to send.
    /// - Returns: Its name, and how it stands with it.
    /// - Throws: ``LarderError/unknownOrigin(_:)`` for a request to a host that the daemon has no
    ///   origin for, ``LarderError/invalid(_:)`` for what cannot be, ``LarderError/unavailable(_:)``
    ///   where there is no room for it. Nothing was written then.
    @discardableResult
    public func write(_ modifier: Modifier) async throws(LarderError) -> AcceptedModifier {
        let bytes = try await submit(ModifiersCommand(try modifier.command(accountName(), time)))
        return AcceptedModifier(
            receipt: try LarderError.decoding { () throws(WireError) in
                try ModifierReceipt(decoding: bytes)
            }
        )
    }

    /// The same for several: all of them are accepted, in this order, or none.
    ///
    /// - Parameter modifiers: 1 to 1,000.
    /// - Returns: One for each, in their order.
    /// - Throws: As ``write(_:)``.
    @discardableResult
    public func write(all modifiers: [Modifier]) async throws(LarderError) -> [AcceptedModifier] {
        let account = try accountName()
        var commands: [ModifierCommand] = []
        for modifier in modifiers { commands.append(try modifier.command(account, time)) }
        let bytes = try await submit(ModifiersCommand(all: commands))
        let receipts = try LarderError.decoding { () throws(WireError) in
            try ModifierReceipt.list(decoding: bytes)
        }
        return receipts.map(AcceptedModifier.init)
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
    ) async throws(LarderError) -> ModifierStatus {
        let command = ModifiersCommand(try modifier.command(accountName(), time))
        return try Self.status(try await submit(command, waitingFor: wait))
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
    ) async throws(LarderError) -> ModifierStatus {
        let path = try modifierTarget(id, ["wait": wait?.unitText], scope)
        // While it waits, the daemon keeps the deadline.
        let timeLimit = wait == nil ? Limits.reportTime : nil
        return try await status(SocketRequest(.GET, path, timeLimit: timeLimit))
    }

    /// Modifiers in the order in which they were accepted, asked for page by page.
    ///
    ///     for try await modifier in larder.modifiers() { show(modifier) }
    ///
    /// - Parameters:
    ///   - selection: Which.
    ///   - lane: Only those of a lane.
    ///   - scope: Whose.
    /// - Returns: All of them; nothing is asked before they are iterated.
    public func modifiers(
        _ selection: ModifierSelection = .open,
        lane: Modifier.Lane? = nil,
        scope: EntryScope = .own
    ) -> Pages<ModifierStatus> {
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
    ///   - lane: Only those of a lane.
    ///   - limit: Modifiers in the page, 1 to 1,000.
    ///   - cursor: ``Modifiers/next`` of the page before.
    ///   - scope: Whose.
    /// - Returns: The page.
    /// - Throws: ``LarderError/notPermitted(_:)`` for others' modifiers.
    public func modifiers(
        _ selection: ModifierSelection = .open,
        lane: Modifier.Lane? = nil,
        limit: Int,
        cursor: String? = nil,
        scope: EntryScope = .own
    ) async throws(LarderError) -> Modifiers {
        var command = ModifierListCommand()
        command.selection = selection.wire
        command.lane = try lane?.wire
        command.limit = limit
        command.cursor = cursor
        command.scope = try scopeSelection(scope)
        let page = try await page(command)
        return Modifiers(items: page.items.map(ModifierStatus.init), next: page.next)
    }
}

extension LarderClient {
    private var modifiersPath: String { "/v1/modifiers" }

    private func status(_ request: SocketRequest) async throws(LarderError) -> ModifierStatus {
        try Self.status(try await connection.report(request))
    }

    /// Writes under the names that all of them have; where the answer is cut off once more, which
    /// the daemon takes for the same write.
    private func submit(
        _ command: ModifiersCommand,
        waitingFor wait: Duration? = nil
    ) async throws(LarderError) -> [UInt8] {
        let request = SocketRequest(
            posting: command.encodedJSON(),
            to: target(modifiersPath, ["wait": wait?.unitText])
        )
        do throws(LarderError) {
            return try await connection.report(request)
        } catch .cutOff {
            return try await connection.report(request)
        }
    }

    private static func status(_ bytes: [UInt8]) throws(LarderError) -> ModifierStatus {
        ModifierStatus(
            report: try LarderError.decoding { () throws(WireError) in
                try ModifierReport(decoding: bytes)
            }
        )
    }

    func page(
        _ command: ModifierListCommand
    ) async throws(LarderError) -> ModifierPage {
        let query = command.query.isEmpty ? "" : "?\(command.query)"
        // While it waits, the daemon keeps the deadline.
        let timeLimit = command.wait == nil ? Limits.reportTime : nil
        let bytes = try await connection.report(
            SocketRequest(.GET, modifiersPath + query, timeLimit: timeLimit)
        )
        return try LarderError.decoding { () throws(WireError) in
            try ModifierPage(decoding: bytes)
        }
    }

    func modifierTarget(
        _ id: String,
        _ parameters: KeyValuePairs<String, String?>,
        _ scope: EntryScope
    ) throws(LarderError) -> String {
        let path = PercentCoding.modifierPath(try Modifier.id(id))
        return try scopedTarget(target(path, parameters), scope)
    }

    /// A path, with or without a query, and whose rows it is about.
    func scopedTarget(
        _ path: String,
        _ scope: EntryScope
    ) throws(LarderError) -> String {
        let parameters = try scopeSelection(scope).parameters.map {
            "\($0.name)=\(PercentCoding.encode($0.value))"
        }
        guard !parameters.isEmpty else { return path }
        return path + (path.contains("?") ? "&" : "?") + parameters.joined(separator: "&")
    }
}
