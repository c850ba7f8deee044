import LarderModel

/// The connection by which a ``StoreReader`` reads `cache.db`, and its transaction.
///
/// Opening a transaction costs as much as a read, so one stays open over the reads of one turn of
/// its owner. The owner ends it before it waits, because a reader that stays in a transaction keeps
/// the WAL from being reset. A read after an answered commit sees that commit, because the commit
/// number has moved by then. The number also moves when another file replaces a lost one.
final class CacheReader {
    /// Whether the open transaction is renewed: several reads may be to see one moment.
    enum Hold {
        case none
        case begun
        case held
    }

    private var database: DatabaseFile { shared.cacheFile }
    private let cacheBytes: Int64
    private let shared: SharedCacheState
    private let commits: CommitQueue
    private var opened: ReaderFile?
    private var openedAtCommit: Int64?
    var hold = Hold.none
    var transactionOpened: () -> Void = {}

    init(cacheBytes: Int64, _ shared: SharedCacheState, _ commits: CommitQueue) {
        self.cacheBytes = cacheBytes
        self.shared = shared
        self.commits = commits
        _ = try? openFile()
    }

    func endTransaction() { if hold != .held { end() } }

    private func end() {
        guard openedAtCommit != nil else { return }
        openedAtCommit = nil
        guard let opened else { return }
        do throws(StoreError) {
            try opened.end.run()
        } catch {
            opened.connection.rollBack()
        }
    }

    /// Opens a transaction that sees every answered commit; nil while there is no file.
    func openTransaction() throws(StoreError) -> ReaderFile? {
        let commit = shared.commitNumber
        let isOpen = hold == .held && openedAtCommit != nil
        if hold == .begun { hold = .held }
        if isOpen || openedAtCommit == commit { return opened }
        end()
        guard let file = try openFile() else { return nil }
        try file.begin.run()
        openedAtCommit = commit
        transactionOpened()
        return file
    }

    private func openFile() throws(StoreError) -> ReaderFile? {
        let generation = shared.generation
        if let opened, opened.generation == generation { return opened }
        opened = nil
        guard generation.hasFile else { return nil }
        let file: ReaderFile
        do throws(StoreError) {
            file = try ReaderFile(database, cacheBytes: cacheBytes, generation)
        } catch {
            tell(error, generation)
            throw .noFile(reason: error.message)
        }
        // A file that was made meanwhile is not the one of this number.
        guard shared.generation == generation else { return nil }
        opened = file
        return file
    }

    /// Reads in a transaction; nil while there is no file.
    func reading<Value>(
        _ work: (ReaderFile) throws(StoreError) -> Value
    ) throws(StoreError) -> Value? {
        do throws(StoreError) {
            guard let file = try openTransaction() else { return nil }
            return try work(file)
        } catch {
            _ = wasLost(after: error)
            throw error
        }
    }

    /// Whether a read failed because its file is damaged, which the writer hears of, or replaced.
    func wasLost(after error: StoreError) -> Bool {
        if case .noFile = error { return true }
        if case .overLoopBudget = error { return false }
        // An error of `state.db` says nothing about this file.
        guard error.file == nil || error.file == database.path,
            let generation = opened?.generation
        else { return false }
        if shared.generation != generation { return true }
        tell(error, generation)
        return error.meansDamage(of: database)
    }

    private func tell(_ error: StoreError, _ generation: Generation) {
        guard shared.isFirstTrouble(of: generation) else { return }
        commits.postOutsideTransaction { $0.files.cache.readerFailed(error, generation) }
    }
}

final class ReaderFile {
    let generation: Generation
    let connection: SQLiteConnection
    let begin: SQLiteStatement
    let end: SQLiteStatement
    let get: SQLiteStatement
    var chunks: ChunkReader { ChunkReader(connection: connection) }
    let hidden: HiddenTable
    let references: ReferenceTable

    init(_ database: DatabaseFile, cacheBytes: Int64, _ generation: Generation) throws(StoreError) {
        self.generation = generation
        connection = try database.openReader(cacheBytes: cacheBytes)
        begin = try connection.prepare("BEGIN")
        end = try connection.prepare("COMMIT")
        get = try connection.prepare("SELECT \(EntryColumn.list) FROM entry WHERE key = :key")
        hidden = HiddenTable(connection, key: "key")
        references = ReferenceTable(connection, of: .cache)
    }

    @inline(__always)
    func find(_ key: RowKey, _ scope: ScopeKey, _ id: EntryID) throws(StoreError) -> Bool {
        get.bind(EntryColumn.key, key.number)
        return try get.step() && get.isText(EntryColumn.scope, scope.text)
            && get.isText(EntryColumn.id, id.text)
    }

    func lastStep() throws(StoreError) -> Revision {
        let last = try connection.statement("SELECT value FROM meta WHERE name = 'rev'")
        return Revision(try last.first { $0.integer(.only) } ?? 0)
    }
}
