import CSQLite
import Glibc
import LarderModel

/// A connection to one SQLite file, used by one thread at a time.
///
/// It is opened with SQLITE_OPEN_NOMUTEX (https://sqlite.org/threadsafe.html): each owner documents
/// what keeps other threads away.
final class SQLiteConnection {
    enum Mode {
        case readWrite
        case readOnly
    }

    let handle: OpaquePointer
    let path: String
    private let faults: (any FaultPlan)?
    private let mark: CorruptionMarker?
    private var lent: [String: LentStatement] = [:]

    /// Said once, before the first connection; where another part of the process was earlier,
    /// SQLite keeps its statistics and is a little slower.
    private static let setUp: Void = { _ = larder_disable_memory_statistics() }()

    init(
        path: String,
        mode: Mode,
        faults: (any FaultPlan)? = nil,
        mark: CorruptionMarker? = nil
    ) throws(StoreError) {
        Self.setUp
        var opened: OpaquePointer?
        let access = mode == .readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE
        if let code = faults?.failure(before: "open \(path)", of: path) {
            throw StoreError(code: code, file: path, step: "open \(path)", message: "injected")
        }
        let code = sqlite3_open_v2(path, &opened, access | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK, let opened else {
            let message = opened.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
            sqlite3_close_v2(opened)
            throw StoreError(code: code, file: path, step: "open \(path)", message: message)
        }
        sqlite3_extended_result_codes(opened, 1)
        handle = opened
        self.path = path
        self.faults = faults
        self.mark = mark
        setBusyTime(Limits.busyTime)
    }

    deinit {
        lent = [:]
        sqlite3_close_v2(handle)
    }

    func execute(_ sql: String) throws(StoreError) {
        try check(before: sql)
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw error(code, step: sql) }
    }

    /// A statement for one use, prepared once and lent again and again: parsing SQL costs ten times
    /// what a row by its key does.
    ///
    /// It comes back, reset and without parameters, when it is let go.
    func statement(_ sql: String) throws(StoreError) -> SQLiteStatement {
        if let known = lent[sql] {
            guard known.isIdle else { return try prepare(sql) }
            try check(before: sql)
            known.isIdle = false
            return SQLiteStatement(handle: known.handle, connection: self, sql: sql, lent: known)
        }
        guard lent.count < Limits.idleStatementsMax else { return try prepare(sql) }
        let new = LentStatement(try prepared(sql))
        lent[sql] = new
        return SQLiteStatement(handle: new.handle, connection: self, sql: sql, lent: new)
    }

    func statement<each Value: SQLiteValue>(
        _ sql: String,
        _ values: repeat (String, each Value)
    ) throws(StoreError) -> SQLiteStatement {
        let statement = try statement(sql)
        statement.bind(repeat each values)
        return statement
    }

    /// A statement with the ``RowScopes/condition`` of some scopes, which are bound.
    func statement(_ sql: String, of scopes: RowScopes) throws(StoreError) -> SQLiteStatement {
        let statement = try statement(sql)
        scopes.bind(to: statement)
        return statement
    }

    /// A statement whose parameters `:scope` and `:id` are those of a row.
    func statement(_ sql: String, of name: TargetName) throws(StoreError) -> SQLiteStatement {
        try statement(sql, (":scope", name.scope.text), (":id", name.id.text))
    }

    func prepare(_ sql: String) throws(StoreError) -> SQLiteStatement {
        SQLiteStatement(handle: try prepared(sql), connection: self, sql: sql)
    }

    private func prepared(_ sql: String) throws(StoreError) -> OpaquePointer {
        try check(before: sql)
        var statement: OpaquePointer?
        let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
        let code = sqlite3_prepare_v3(handle, sql, -1, flags, &statement, nil)
        guard code == SQLITE_OK, let statement else { throw error(code, step: sql) }
        return statement
    }

    func integer(_ sql: String) throws(StoreError) -> Int64? {
        try prepare(sql).first { $0.integer(.only) }
    }

    func text(_ sql: String) throws(StoreError) -> String? {
        try prepare(sql).first { $0.text(.only) }
    }

    func setPageCache(bytes: Int64) throws(StoreError) {
        try execute("PRAGMA cache_size=-\(max(64, bytes / 1_024))")
    }

    func setBusyTime(_ time: Duration) {
        sqlite3_busy_timeout(handle, Int32(clamping: time.milliseconds))
    }

    var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    func transaction<Value>(_ work: () throws(StoreError) -> Value) throws(StoreError) -> Value {
        try execute("BEGIN IMMEDIATE")
        do throws(StoreError) {
            let value = try work()
            try execute("COMMIT")
            return value
        } catch {
            rollBack()
            throw error
        }
    }

    /// Replaces the whole content by that of another database (https://sqlite.org/backup.html).
    func take(pagesOf other: SQLiteConnection) throws(StoreError) {
        let step = "take the pages of \(other.path)"
        try check(before: step)
        guard let backup = sqlite3_backup_init(handle, "main", other.handle, "main") else {
            throw error(sqlite3_errcode(handle), step: step)
        }
        sqlite3_backup_step(backup, -1)
        let code = sqlite3_backup_finish(backup)
        guard code == SQLITE_OK else { throw error(code, step: step) }
    }

    func rollBack() {
        guard isInTransaction else { return }
        sqlite3_exec(handle, "ROLLBACK", nil, nil, nil)
    }

    func keepWALOnClose(_ keeps: Bool) { _ = larder_keep_wal_on_close(handle, keeps ? 1 : 0) }
    var lastInsertedRow: Int64 { sqlite3_last_insert_rowid(handle) }
    var totalChanges: Int64 { sqlite3_total_changes64(handle) }

    func error(_ code: Int32, step: String) -> StoreError {
        // The WAL's errno may be an old one, unless a write has failed now.
        let log = StoreError.isFailedWrite(code) ? larder_wal_errno(handle) : 0
        let isDiskProblem = [SQLITE_IOERR, SQLITE_CANTOPEN].contains(code & 0xFF)
        let full = [ENOSPC, EDQUOT, EFBIG]
        if isDiskProblem, full.contains(sqlite3_system_errno(handle)) || full.contains(log) {
            return .diskFull(file: path, step: step)
        }
        return told(code, step, String(cString: sqlite3_errmsg(handle)))
    }

    func check(before step: String) throws(StoreError) {
        guard let code = faults?.failure(before: step, of: path) else { return }
        throw told(code, step, "injected")
    }

    func damaged(_ step: String) -> StoreError {
        mark?.set(by: step)
        return .corrupt(file: path, step: step)
    }

    private func told(_ code: Int32, _ step: String, _ message: String) -> StoreError {
        let error = StoreError(code: code, file: path, step: step, message: message)
        if case .corrupt = error { mark?.set(by: step) }
        return error
    }

    /// Gives free pages up, a step at a time; false when there are none.
    ///
    /// The file itself becomes smaller with the next checkpoint.
    func vacuumStep() throws(StoreError) -> Bool {
        guard let free = try integer("PRAGMA freelist_count"), free > 0 else { return false }
        try execute("PRAGMA incremental_vacuum(\(Limits.vacuumPagesMax))")
        return true
    }

    /// Faults that SQLite finds in the file's structure
    /// (https://sqlite.org/pragma.html#pragma_quick_check); none in a sound file, and nil if
    /// `cancellation` ended the check early.
    func quickCheck(until cancellation: CheckCancellation) throws(StoreError) -> [String]? {
        do throws(StoreError) {
            return try cancellation.during(self) { () throws(StoreError) in
                let sql = "PRAGMA quick_check(\(Limits.checkFindingsMax))"
                let findings = try prepare(sql).all { $0.text(.only) ?? "" }
                return findings == ["ok"] ? [] : findings
            }
        } catch .sqlite(_, _, let code, _) where code & 0xFF == SQLITE_INTERRUPT {
            return nil
        } catch .corrupt(let file, let step) {
            return [StoreError.corrupt(file: file, step: step).message]
        }
    }
}

/// A statement that a connection keeps, and lends to one user at a time.
final class LentStatement {
    let handle: OpaquePointer
    var isIdle = false

    init(_ handle: OpaquePointer) { self.handle = handle }

    deinit { sqlite3_finalize(handle) }

    func takeBack() {
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
        isIdle = true
    }
}

/// Writes the WAL of a file back when it is long: pages are counted after each commit
/// (https://sqlite.org/c3ref/wal_hook.html).
///
/// The writer's connection alone does it: SQLite before 3.51.3 can lose committed pages when two
/// connections checkpoint and commit at the same time.
final class WriteAheadLog {
    private let connection: SQLiteConnection
    private var pages = 0
    private var checkpointAt = Limits.walPagesMax

    init(of connection: SQLiteConnection) {
        self.connection = connection
        // The writer keeps both, so this outlives the hook that points to it.
        let pointer = Unmanaged.passUnretained(self).toOpaque()
        sqlite3_wal_hook(
            connection.handle,
            { context, _, _, pages in
                guard let context else { return SQLITE_OK }
                Unmanaged<WriteAheadLog>.fromOpaque(context).takeUnretainedValue()
                    .committed(pages: Int(pages))
                return SQLITE_OK
            },
            pointer
        )
    }

    var wantsCheckpoint: Bool { pages >= checkpointAt }

    /// Takes note of a commit; fewer pages than before mean that the WAL was reset.
    private func committed(pages: Int) {
        if pages < self.pages { checkpointAt = Limits.walPagesMax }
        self.pages = pages
    }

    /// Writes back all pages that no reader blocks.
    ///
    /// A later commit resets the WAL, unless a reader blocks it or the checkpoint failed. So the
    /// next try comes a quarter later. Readers hold no transaction while they wait. True when
    /// everything that was committed is in the file, and synced.
    @discardableResult func checkpoint(truncating: Bool) throws(StoreError) -> Bool {
        checkpointAt = pages + Limits.walPagesMax / 4
        try connection.check(before: "checkpoint")
        let mode = truncating ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE
        var inLog: Int32 = 0
        var inFile: Int32 = 0
        let code = sqlite3_wal_checkpoint_v2(connection.handle, nil, mode, &inLog, &inFile)
        guard code == SQLITE_OK || code == SQLITE_BUSY else {
            throw connection.error(code, step: "checkpoint")
        }
        return code == SQLITE_OK && inLog == inFile
    }
}
