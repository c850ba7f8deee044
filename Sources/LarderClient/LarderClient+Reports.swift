import LarderModel
import LarderWire
import NIOHTTP1

extension LarderClient {
    /// One page of the entries that this user sees, or of entities with a prefix of theirs.
    ///
    /// - Parameters:
    ///   - prefix: Only ids that begin with it, such as `entity:shop/User:`.
    ///   - origin: Only those of this origin.
    ///   - sort: Their order; nil: by id.
    ///   - limit: Rows in the page, 1 to 1,000; nil: 100.
    ///   - cursor: the `next` of the page before.
    ///   - scope: Whose entries.
    /// - Returns: The page.
    /// - Throws: ``LarderError/notPermitted(_:)`` for others' entries, ``LarderError/invalid(_:)`` for
    ///   what cannot be asked.
    public func entries(
        prefix: String? = nil,
        origin: String? = nil,
        sort: EntryOrder? = nil,
        limit: Int? = nil,
        cursor: String? = nil,
        scope: EntryScope = .own
    ) async throws(LarderError) -> Page<EntryItem> {
        var query = EntryListQuery()
        (query.prefix, query.origin, query.sort) = (prefix, origin, sort)
        (query.page.limit, query.page.cursor) = (limit, cursor)
        query.rows = try rows(of: scope)
        return try await connection.send(SocketRequest(getting: "/v1/entries", query))
    }

    /// All entries of this user, or of whom `scope` names, page by page.
    ///
    ///     for try await entry in larder.allEntries(sort: .size) {
    ///         print(entry.byteCount, entry.id)
    ///     }
    public func allEntries(
        prefix: String? = nil,
        origin: String? = nil,
        sort: EntryOrder? = nil,
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
    ) async throws(LarderError) -> EntryExplanation {
        let path = PercentCoding.entryPath(try entryID(id)) + "/explain"
        return try await connection.send(SocketRequest(getting: path, rows(of: scope)))
    }

    /// Drops entries, of which nothing is known afterwards.
    ///
    ///     var command = EvictCommand()
    ///     command.prefix = "https://api.example.com/articles/"
    ///     try await larder.evict(command)
    ///
    /// - Parameters:
    ///   - command: The entries, selected in one way.
    ///   - scope: Whose entries.
    /// - Returns: What went.
    /// - Throws: ``LarderError/notPermitted(_:)`` for others' entries, ``LarderError/invalid(_:)`` for
    ///   a selection that cannot be.
    @discardableResult
    public func evict(
        _ command: EvictCommand,
        scope: EntryScope = .own
    ) async throws(LarderError) -> EvictReport {
        var command = command
        command.rows = try rows(of: scope)
        return try await connection.send(SocketRequest(posting: command, to: "/v1/evict"))
    }

    /// One screen on the daemon's health.
    ///
    /// - Throws: ``LarderError/unreachable(_:)`` where no daemon runs.
    public func status() async throws(LarderError) -> StatusReport {
        try await connection.send(SocketRequest(.GET, "/v1/status", timeLimit: Limits.reportTime))
    }

    /// Counts and times since the daemon's start.
    public func stats() async throws(LarderError) -> StatsReport {
        try await connection.send(SocketRequest(.GET, "/v1/stats", timeLimit: Limits.reportTime))
    }

    /// Where the bytes are.
    ///
    /// - Parameter scope: Whose entries are added up.
    /// - Returns: The sums, and how the daemon's files and disk are.
    /// - Throws: ``LarderError/notPermitted(_:)`` for others' entries.
    public func usage(scope: EntryScope = .own) async throws(LarderError) -> UsageReport {
        try await connection.send(SocketRequest(getting: "/v1/usage", rows(of: scope)))
    }

    /// Has the daemon look at its files, their permissions and its clock; for administrators.
    ///
    /// It may take half a minute; one runs at a time.
    package func check() async throws(LarderError) -> [Finding] {
        let request = SocketRequest(.POST, "/v1/check", timeLimit: Limits.reportTime)
        return try await connection.send(request, answer: Page<Finding>.self).items
    }

    /// Has the daemon read its configuration again; for administrators.
    package func reload() async throws(LarderError) -> ReloadReport {
        try await connection.send(SocketRequest(.POST, "/v1/reload", timeLimit: Limits.reportTime))
    }

    /// Has the daemon take away all that it keeps of a user; for administrators.
    ///
    /// The call has no time limit, as a purge of many rows takes long.
    package func purge(_ scope: EntryScope) async throws(LarderError) -> PurgeReport {
        let target = socketTarget("/v1/purge", try rows(of: scope))
        return try await connection.send(SocketRequest(.POST, target))
    }

    /// The socket that took a connection; nil before.
    package var socketInUse: String? { connection.socketInUse }

    func originName(_ text: String) throws(LarderError) -> OriginName {
        try LarderError.checking(.badRequest, text, OriginName.init(_:))
    }
}
