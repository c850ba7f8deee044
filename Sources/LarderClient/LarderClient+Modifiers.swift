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
        let path = try modifierTarget(id, ["wait": wait?.unitText], scope)
        // While it waits, the daemon keeps the deadline.
        let timeLimit = wait == nil ? Limits.reportTime : nil
        return try await connection.send(SocketRequest(.GET, path, timeLimit: timeLimit))
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
    private var modifiersPath: String { "/v1/modifiers" }

    /// Writes under the names that all of them have; where the answer is cut off once more, which
    /// the daemon takes for the same write.
    private func submit<Answer: Decodable & Sendable>(
        _ command: some Encodable,
        waitingFor wait: Duration? = nil
    ) async throws(LarderError) -> Answer {
        let request = SocketRequest(
            posting: APIEncoder().encode(command),
            to: target(modifiersPath, ["wait": wait?.unitText])
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
        let path = try scopedTarget("\(modifiersPath)?\(APIEncoder().query(query))", scope)
        // While it waits, the daemon keeps the deadline.
        let timeLimit = query.wait == nil ? Limits.reportTime : nil
        return try await connection.send(SocketRequest(.GET, path, timeLimit: timeLimit))
    }

    func modifierID(_ text: String) throws(LarderError) -> ModifierID {
        try LarderError.checking(.badRequest) { () throws(ModelError) in try ModifierID(text) }
    }

    func modifierTarget(
        _ id: String,
        _ parameters: KeyValuePairs<String, String?>,
        _ scope: EntryScope
    ) throws(LarderError) -> String {
        let path = PercentCoding.modifierPath(try modifierID(id))
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
