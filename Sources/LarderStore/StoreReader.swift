import CSQLite
import Glibc
package import LarderModel

/// A connection that only reads `cache.db`, owned by one event loop or one queue.
///
/// Opening a read transaction costs as much as the read, so the reader keeps one open over the
/// reads of one turn of its owner. The owner ends it (``endTransaction()``) before it waits: a
/// reader that stays in a transaction keeps the WAL from starting anew. A read after a commit that
/// was answered always sees it, as the commit number has moved by then.
package final class StoreReader {
    private let connection: SQLiteConnection
    private let shared: SharedCacheState
    private let touches: TouchLog
    private let begin: SQLiteStatement
    private let end: SQLiteStatement
    private let get: SQLiteStatement
    private let chunk: SQLiteStatement
    private var openedAtCommit: Int64?
    private let requestFlush: @Sendable () -> Void
    /// Told once whenever a transaction was opened, so that the owner can see to its end.
    package var transactionOpened: () -> Void = {}

    init(
        connection: SQLiteConnection,
        shared: SharedCacheState,
        requestFlush: @escaping @Sendable () -> Void
    ) throws(StoreError) {
        self.connection = connection
        self.shared = shared
        self.requestFlush = requestFlush
        touches = shared.makeTouchLog()
        begin = try connection.prepare("BEGIN")
        end = try connection.prepare("COMMIT")
        get = try connection.prepare(
            "SELECT \(EntryRow.columns) FROM entry WHERE key BETWEEN ?1 AND ?2"
        )
        chunk = try connection.prepare("SELECT checksum, data FROM chunk WHERE chunk = ?1")
    }

    /// Makes what an id is looked up by.
    package func key(for scope: Scope) -> ScopeKey {
        shared.key(for: scope)
    }

    /// Hands an id's row to `read`; nil when there is none.
    ///
    /// A tombstone is a row, a blob past its `ttl` is none. A row whose body does not match its
    /// checksum is none, and is counted. `isUse` says whether this counts as a use.
    package func withEntry<Value>(
        _ scope: ScopeKey,
        _ id: EntryID,
        now: Timestamp,
        isUse: Bool = true,
        _ read: (borrowing EntryRow) -> Value
    ) throws(StoreError) -> Value? {
        try openTransaction()
        let first = RowKey(scope, id)
        get.bind(1, first.number)
        get.bind(2, first.last.number)
        defer { get.reset() }
        while try get.step() {
            guard get.isText(1, scope.text), get.isText(2, id.text) else { continue }
            let row = EntryRow(get)
            guard isSound(row) else {
                shared.countDamagedRow()
                return nil
            }
            if row.kind == .blob, let end = row.freshUntil, end <= now { return nil }
            if isUse, touches.touch(RowKey(get.integer(0)), at: shared.clock.tick()) {
                requestFlush()
            }
            return read(row)
        }
        return nil
    }

    /// Everything of an entry but its bytes; nil when there is none.
    package func entry(
        _ scope: ScopeKey,
        _ id: EntryID,
        now: Timestamp,
        isUse: Bool = false
    ) throws(StoreError) -> Entry? {
        try withEntry(scope, id, now: now, isUse: isUse) { $0.entry() } ?? nil
    }

    /// Reads something that is always there.
    package func check() throws(StoreError) {
        _ = try connection.integer("SELECT count(*) FROM meta")
    }

    /// Ends the transaction that reads have opened, if one is open.
    package func endTransaction() {
        guard openedAtCommit != nil else { return }
        openedAtCommit = nil
        do throws(StoreError) {
            try end.run()
        } catch {
            connection.rollBack()
        }
    }

    /// Opens a transaction that sees every commit that was answered before.
    func openTransaction() throws(StoreError) {
        let commit = shared.commitNumber
        if openedAtCommit == commit { return }
        if openedAtCommit != nil {
            endTransaction()
        }
        try begin.run()
        openedAtCommit = commit
        transactionOpened()
    }

    func prepare(_ sql: String) throws(StoreError) -> SQLiteStatement {
        try connection.prepare(sql)
    }

    private func isSound(_ row: borrowing EntryRow) -> Bool {
        guard row.chunkedBody == nil else { return Limits.chunkedBodyBytes.contains(row.byteCount) }
        return row.withBody { Checksum.digest($0) == row.digest && $0.count == row.byteCount }
    }

    /// One chunk of a body, from a transaction of its own.
    func chunk(_ position: Int64, of body: ChunkedBody) throws(StoreError) -> [UInt8] {
        try openTransaction()
        defer { endTransaction() }
        chunk.bind(1, CacheWriter.chunkKey(body.number, position))
        defer { chunk.reset() }
        guard try chunk.step(), Checksum.chunk(chunk.bytes(1)) == chunk.integer(0) else {
            shared.countDamagedRow()
            throw .badChunk
        }
        return Array(chunk.bytes(1))
    }
}

extension SQLiteStatement {
    /// Whether a column's text has the same bytes as `text`, without making a String of it.
    func isText(_ column: Int32, _ text: String) -> Bool {
        guard let bytes = sqlite3_column_text(handle, column) else { return false }
        let count = Int(sqlite3_column_bytes(handle, column))
        guard text.utf8.count == count else { return false }
        var text = text
        return text.withUTF8 { utf8 in
            utf8.baseAddress.map { memcmp(bytes, $0, count) == 0 } ?? (count == 0)
        }
    }
}
