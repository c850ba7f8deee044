import LarderModel
import LarderWire
import NIOHTTP1

extension LarderClient {
    /// One page of the entries that this user sees.
    ///
    /// - Parameters:
    ///   - prefix: Only ids that begin with it.
    ///   - origin: Only those of this origin.
    ///   - sort: Their order.
    ///   - limit: Rows in the page, 1 to 1,000.
    ///   - cursor: ``EntryItems/next`` of the page before.
    /// - Returns: The page.
    /// - Throws: The problem with what was asked for.
    public func entries(
        prefix: String? = nil,
        origin: String? = nil,
        sort: EntryOrder = .id,
        limit: Int = 100,
        cursor: String? = nil
    ) async throws(LarderError) -> EntryItems {
        var command = EntryListCommand()
        command.prefix = prefix
        if let origin { command.origin = try originName(origin) }
        command.sort =
            switch sort {
            case .id: .id
            case .size: .size
            case .age: .age
            case .used: .used
            }
        command.limit = limit
        command.cursor = cursor
        command.account = try accountName()
        let query = command.query.isEmpty ? "" : "?\(command.query)"
        let bytes = try await connection.report(
            SocketRequest(.GET, "/v1/entries\(query)", timeLimit: Limits.reportTime)
        )
        let page = try LarderError.decoding { () throws(WireError) in
            try EntryPage(decoding: bytes)
        }
        return EntryItems(items: page.items.map(EntryItem.init), next: page.next)
    }

    /// All entries that this user sees, page by page.
    public func allEntries(
        prefix: String? = nil,
        origin: String? = nil,
        sort: EntryOrder = .id
    ) -> EntryList {
        EntryList(client: self, prefix: prefix, origin: origin, sort: sort)
    }

    /// Everything that is known of one entry.
    public func explain(_ id: String) async throws(LarderError) -> Explanation {
        let path = PercentCoding.entryPath(try entryID(id)) + "/explain"
        let request = SocketRequest(
            .GET,
            target(path, ["account": try accountParameter()]),
            timeLimit: Limits.reportTime
        )
        let bytes = try await connection.report(request)
        return Explanation(
            explanation: try LarderError.decoding { () throws(WireError) in
                try EntryExplanation(decoding: bytes)
            }
        )
    }

    /// Drops entries, of which nothing is known afterwards.
    ///
    /// - Parameters:
    ///   - selection: Which.
    ///   - dryRun: Says what would go and lets it stay.
    /// - Returns: What went.
    /// - Throws: The problem with what was asked for.
    @discardableResult
    public func evict(
        _ selection: EvictionSelection,
        dryRun: Bool = false
    ) async throws(LarderError) -> EvictionReport {
        let wire = try LarderError.checking(.badRequest) { () throws(ModelError) in
            try selection.wire
        }
        var command = EvictCommand(wire)
        command.isDryRun = dryRun
        command.account = try accountName()
        let bytes = try await connection.report(
            SocketRequest(posting: command.encodedJSON(), to: "/v1/evict")
        )
        return EvictionReport(
            report: try LarderError.decoding { () throws(WireError) in
                try EvictReport(decoding: bytes)
            }
        )
    }

    /// One screen on the daemon's health.
    public func status() async throws(LarderError) -> DaemonStatus {
        let bytes = try await connection.report(
            SocketRequest(.GET, "/v1/status", timeLimit: Limits.reportTime)
        )
        return DaemonStatus(
            report: try LarderError.decoding { () throws(WireError) in
                try StatusReport(decoding: bytes)
            }
        )
    }

    private func originName(_ text: String) throws(LarderError) -> OriginName {
        try LarderError.checking(.badRequest) { () throws(ModelError) in try OriginName(text) }
    }
}
