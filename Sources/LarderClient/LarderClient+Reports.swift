import LarderModel
import LarderWire
import NIOHTTP1
import Synchronization

extension LarderClient {
    /// Lists one page of entries, or of entities if `prefix` begins with `entity:`.
    ///
    /// - Parameters:
    ///   - prefix: Only ids that begin with it, such as `entity:shop/User:`.
    ///   - origin: Only entries of this origin.
    ///   - sort: Their order; nil: by id.
    ///   - limit: Rows in the page, 1 to 1,000; nil: 100.
    ///   - cursor: `next` of the page before.
    ///   - scope: Users whose entries are listed.
    /// - Returns: The page.
    /// - Throws: ``LarderError/notPermitted(_:)`` for others' entries, ``LarderError/invalid(_:)``
    ///   for an invalid selection.
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

    /// Lists all entries of this user, or of the users in `scope`, page by page.
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
            try await self.entries(
                prefix: prefix,
                origin: origin,
                sort: sort,
                limit: Limits.pageRowsMax,
                cursor: cursor,
                scope: scope
            )
        }
    }

    /// Reads everything that the daemon knows of an entry, except its bytes.
    ///
    /// - Parameters:
    ///   - id: Id of the entry.
    ///   - scope: User of the row; ``EntryScope/all`` is refused, as it names no single row.
    /// - Returns: The explanation.
    /// - Throws: ``LarderError/miss(_:)`` if nothing is cached under the id.
    public func explain(
        _ id: String,
        scope: EntryScope = .own
    ) async throws(LarderError) -> EntryExplanation {
        let path = PercentCoding.entryPath(try entryID(id)) + "/explain"
        return try await connection.send(SocketRequest(getting: path, rows(of: scope)))
    }

    /// Evicts entries, with all that the daemon knows of them.
    ///
    ///     var command = EvictCommand()
    ///     command.prefix = "https://api.example.com/articles/"
    ///     try await larder.evict(command)
    ///
    /// - Parameters:
    ///   - command: The entries, selected in one way.
    ///   - scope: Users whose entries are evicted.
    /// - Returns: The evicted entries.
    /// - Throws: ``LarderError/notPermitted(_:)`` for others' entries, ``LarderError/invalid(_:)``
    ///   for an invalid selection.
    @discardableResult
    public func evict(
        _ command: EvictCommand,
        scope: EntryScope = .own
    ) async throws(LarderError) -> EvictReport {
        var command = command
        command.rows = try rows(of: scope)
        return try await connection.send(SocketRequest(sending: command, to: "/v1/evict"))
    }

    /// Reads a summary of the daemon's health.
    ///
    /// - Throws: ``LarderError/unreachable(_:)`` if no daemon runs.
    public func status() async throws(LarderError) -> StatusReport {
        try await connection.send(SocketRequest(.GET, "/v1/status", timeLimit: Limits.reportTime))
    }

    /// Reads counts and times since the daemon's start.
    public func stats() async throws(LarderError) -> StatsReport {
        try await connection.send(SocketRequest(.GET, "/v1/stats", timeLimit: Limits.reportTime))
    }

    /// Reads how much space the entries use.
    ///
    /// - Parameter scope: Users whose entries are added up.
    /// - Returns: The sums, and the state of the daemon's files and disk.
    /// - Throws: ``LarderError/notPermitted(_:)`` for others' entries.
    public func usage(scope: EntryScope = .own) async throws(LarderError) -> UsageReport {
        try await connection.send(SocketRequest(getting: "/v1/usage", rows(of: scope)))
    }

    /// Makes the daemon check its files, their permissions and its clock; for administrators.
    ///
    /// A check may take half a minute; the daemon runs one at a time.
    package func check() async throws(LarderError) -> [Finding] {
        let request = SocketRequest(.POST, "/v1/check", timeLimit: Limits.reportTime)
        return try await connection.send(request, answer: Page<Finding>.self).items
    }

    /// Makes the daemon read its configuration again; for administrators.
    package func reload() async throws(LarderError) -> ReloadReport {
        try await connection.send(SocketRequest(.POST, "/v1/reload", timeLimit: Limits.reportTime))
    }

    /// Makes the daemon remove all that it keeps of a user; for administrators.
    ///
    /// The call has no time limit, as a purge of many rows takes long.
    package func purge(_ scope: EntryScope) async throws(LarderError) -> PurgeReport {
        let target = socketTarget("/v1/purge", try rows(of: scope))
        return try await connection.send(SocketRequest(.POST, target))
    }

    /// The socket that the client uses; nil before the client has chosen one.
    package var socketInUse: String? { connection.socketInUse }

    func originName(_ text: String) throws(LarderError) -> OriginName {
        try LarderError.checking(.badRequest, text, OriginName.init(_:))
    }
}

/// The JSON of the reports that a client reads, for a program that passes it on as the daemon sent
/// it.
///
/// A report type has the members that this version knows; a newer daemon may send more.
package final class SentReports: Sendable {
    /// The instance that notes the reports which the current task reads.
    @TaskLocal private static var current: SentReports?

    private struct State {
        var last: [UInt8] = []
        var items: ArraySlice<RawJSON>?
    }

    private let state = Mutex(State())

    package init() {}

    /// Notes each report that `body` reads.
    package func noting<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        try await Self.$current.withValue(self, operation: body)
    }

    /// The last report that was read.
    package var last: RawJSON { state.withLock { RawJSON(quoting: $0.last) } }

    /// The next item of the page that was read last; nil after the last item.
    package func nextItem() throws(LarderError) -> RawJSON? {
        try state.withLock { state throws(LarderError) in
            if state.items == nil {
                let page: Page<RawJSON> = try DaemonConnection.read(state.last)
                state.items = page.items[...]
            }
            return state.items?.popFirst()
        }
    }

    static func note(_ json: [UInt8]) {
        current?.state.withLock { $0 = State(last: json) }
    }
}

/// All items of a list, asked for page by page while they are iterated.
public struct Pages<Item: Codable & Sendable>: AsyncSequence, Sendable {
    /// Asks for the page at a cursor; nil is the first.
    package typealias Load =
        @Sendable (_ cursor: String?) async throws(LarderError) -> Page<Item>

    let load: Load

    package init(_ load: @escaping Load) { self.load = load }

    /// Asks for the first page at the first call of `next()`.
    public func makeAsyncIterator() -> ClientIterator<Item> {
        var page: ArraySlice<Item> = []
        var cursor: String?
        var isLast = false
        return ClientIterator { [load] () async throws(LarderError) in
            while page.isEmpty, !isLast {
                let answer = try await load(cursor)
                page = answer.items[...]
                cursor = answer.next
                isLast = cursor == nil
            }
            return page.popFirst()
        }
    }
}
