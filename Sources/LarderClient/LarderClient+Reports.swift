import LarderModel
package import LarderWire
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
    ///   - scope: Whose entries.
    /// - Returns: The page.
    /// - Throws: ``LarderError/notPermitted(_:)`` for others' entries, ``LarderError/invalid(_:)`` for
    ///   what cannot be asked.
    public func entries(
        prefix: String? = nil,
        origin: String? = nil,
        sort: EntryOrder = .id,
        limit: Int = 100,
        cursor: String? = nil,
        scope: EntryScope = .own
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
        command.scope = try scopeSelection(scope)
        let query = command.query.isEmpty ? "" : "?\(command.query)"
        let bytes = try await connection.report(
            SocketRequest(.GET, "/v1/entries\(query)", timeLimit: Limits.reportTime)
        )
        let page = try LarderError.decoding { () throws(WireError) in
            try EntryPage(decoding: bytes)
        }
        return EntryItems(items: page.items.map(EntryItem.init), next: page.next)
    }

    /// All entries of this user, or of whom `scope` names, page by page.
    ///
    ///     for try await entry in larder.allEntries(sort: .size) {
    ///         print(entry.byteCount, entry.id)
    ///     }
    public func allEntries(
        prefix: String? = nil,
        origin: String? = nil,
        sort: EntryOrder = .id,
        scope: EntryScope = .own
    ) -> Pages<EntryItem> {
        Pages { cursor throws(LarderError) in
            let page = try await self.entries(
                prefix: prefix,
                origin: origin,
                sort: sort,
                limit: Limits.pageRowsMax,
                cursor: cursor,
                scope: scope
            )
            return (page.items, page.next)
        }
    }

    /// Everything that is known of one entry.
    ///
    /// - Parameters:
    ///   - id: The text that it is found by.
    ///   - scope: Whose it is; ``EntryScope/all`` names no one row and is refused.
    /// - Returns: All but its bytes.
    /// - Throws: ``LarderError/miss(_:)`` where there is nothing.
    public func explain(
        _ id: String,
        scope: EntryScope = .own
    ) async throws(LarderError) -> Explanation {
        let path = PercentCoding.entryPath(try entryID(id)) + "/explain"
        let query = try scopeSelection(scope).parameters.map {
            "\($0.name)=\(PercentCoding.encode($0.value))"
        }
        let request = SocketRequest(
            .GET,
            query.isEmpty ? path : path + "?" + query.joined(separator: "&"),
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
    ///   - includingPinned: Whether what is pinned is unpinned and goes too.
    ///   - scope: Whose entries.
    /// - Returns: What went.
    /// - Throws: ``LarderError/notPermitted(_:)`` for others' entries, ``LarderError/invalid(_:)`` for
    ///   a selection that cannot be.
    @discardableResult
    public func evict(
        _ selection: EvictionSelection,
        dryRun: Bool = false,
        includingPinned: Bool = false,
        scope: EntryScope = .own
    ) async throws(LarderError) -> EvictionReport {
        let wire = try LarderError.checking(.badRequest) { () throws(ModelError) in
            try selection.wire
        }
        var command = EvictCommand(wire)
        command.isDryRun = dryRun
        command.includesPinned = includingPinned
        command.scope = try scopeSelection(scope)
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
    ///
    /// - Throws: ``LarderError/unreachable(_:)`` where no daemon runs.
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

    /// Where the bytes are.
    ///
    /// - Parameter scope: Whose entries are added up.
    /// - Returns: The sums, and how the daemon's files and disk are.
    /// - Throws: ``LarderError/notPermitted(_:)`` for others' entries.
    public func usage(scope: EntryScope = .own) async throws(LarderError) -> CacheUsage {
        let query = try scopeSelection(scope).parameters.map {
            "\($0.name)=\(PercentCoding.encode($0.value))"
        }
        let path = query.isEmpty ? "/v1/usage" : "/v1/usage?" + query.joined(separator: "&")
        let bytes = try await connection.report(
            SocketRequest(.GET, path, timeLimit: Limits.reportTime)
        )
        return CacheUsage(
            report: try LarderError.decoding { () throws(WireError) in
                try UsageReport(decoding: bytes)
            }
        )
    }

    /// Has the daemon look at its files, their permissions and its clock; for administrators.
    ///
    /// It may take half a minute; one runs at a time.
    package func check() async throws(LarderError) -> CheckReport {
        let bytes = try await connection.report(
            SocketRequest(.POST, "/v1/check", timeLimit: Limits.reportTime)
        )
        return try LarderError.decoding { () throws(WireError) in
            try CheckReport(decoding: bytes)
        }
    }

    /// Has the daemon read its configuration again; for administrators.
    package func reload() async throws(LarderError) -> ReloadReport {
        let bytes = try await connection.report(
            SocketRequest(.POST, "/v1/reload", timeLimit: Limits.reportTime)
        )
        return try LarderError.decoding { () throws(WireError) in
            try ReloadReport(decoding: bytes)
        }
    }

    /// Has the daemon take away all that it keeps of a user; for administrators.
    ///
    /// The call has no time limit, as a purge of many rows takes long.
    package func purge(_ scope: EntryScope) async throws(LarderError) -> PurgeReport {
        let parameters = try scopeSelection(scope).parameters
            .map { "\($0.name)=\(PercentCoding.encode($0.value))" }
        let bytes = try await connection.report(
            SocketRequest(
                .POST,
                "/v1/purge?" + parameters.joined(separator: "&")
            )
        )
        return try LarderError.decoding { () throws(WireError) in
            try PurgeReport(decoding: bytes)
        }
    }

    /// The socket that took a connection; nil before.
    package var socketInUse: String? { connection.socketInUse }

    func originName(_ text: String) throws(LarderError) -> OriginName {
        try LarderError.checking(.badRequest) { () throws(ModelError) in try OriginName(text) }
    }
}
