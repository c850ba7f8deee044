import LarderModel
import Synchronization

/// `state.db`: what must survive the loss of the cache.
///
/// A ``StateWriter`` writes it and syncs every commit; readers have connections that only read.
final class StateFile: Sendable {
    let file: DatabaseFile
    private let shared: SharedCacheState
    private var reserve: Reserve { shared.reserves.state }
    let commits: CommitQueue
    let revisions: RevisionSource
    let digestKey: DigestKey
    let notices: [String]
    let takesAlong: Bool
    /// The files that are in use, by their paths; a link in place of one is not looked after.
    private let stamps: [String: FileStamp]
    // Relaxed: it refuses commands and words a warning, and orders nothing.
    private let lost = Atomic(false)

    /// Opens or creates the file and loads its rows into the index.
    ///
    /// The writer of the other file is made after that, so that both have one thread. A damaged
    /// file is set aside. Its readable rows go into a new file, whose counter goes on after the
    /// highest revision that the cache knows.
    init(_ shared: SharedCacheState, beside start: CacheStart) throws(StoreError) {
        self.shared = shared
        let (configuration, reserve) = (shared.configuration, shared.reserves.state)
        var database = Self.database(in: configuration.stateDirectory, configuration.faults)
        database.freeBytes = configuration.freeBytes
        file = database
        try StateFileSwap.finish(file)
        let (started, findings) = try Self.open(file, shared, start)
        file.mark?.remove()
        stamps = Self.stamps(of: file)
        let opening = started.opening
        (notices, digestKey, takesAlong) = (opening.notices, opening.digestKey, opening.takesAlong)
        // On a full disk the first that wants a block tries again.
        revisions = RevisionSource(
            first: started.firstRevision,
            isReserved: started.isBlockReserved,
            changes: shared.changes,
            reserve: reserve
        )
        reserve.take()
        Self.load(opening.rows, into: shared)
        for (key, alias) in opening.aliases { shared.aliases.set(key, alias) }
        for target in opening.deadTargets {
            shared.residency.addDeadLetters(shared.key(for: target.scope), target.id, 1)
        }
        let cache = CacheWriter(shared, revisions, start, opening.nextRevision)
        for finding in findings { shared.findings.add(finding) }
        let writer = StoreWriter(state: started.writer, cache: cache, revisions)
        commits = CommitQueue(writer)
    }

    /// Opens the file; if it proves damaged twice, opens its salvage, with what to tell of that.
    private static func open(
        _ file: DatabaseFile,
        _ shared: SharedCacheState,
        _ start: CacheStart,
        isRepeated: Bool = false
    ) throws(StoreError) -> (Start, [String]) {
        do throws(StoreError) {
            return (try Start(file, shared, start.highestRevision), [])
        } catch {
            guard case .corrupt(file.path, _) = error else { throw error }
            try refuseUnreadable(file)
            // A read that failed for a moment has passed for damage.
            guard isRepeated else { return try open(file, shared, start, isRepeated: true) }
            let saved = try StateSalvage.replace(file, after: start.highestKnownRevision)
            let started = try Start(file, shared, start.highestRevision)
            let finding =
                "\(error.message): it was set aside as \(saved.place.asidePath) and recreated; "
                + "\(saved.rows) rows of it could be read and were taken over"
            return (started, [finding] + saved.findings + snapshot(saved.place))
        }
    }

    /// Ends the start while the disk cannot read a part of the file.
    ///
    /// SQLite reports that as damage, which may pass. A salvage would lose the rows in that part, so
    /// only a later start begins one.
    private static func refuseUnreadable(_ file: DatabaseFile) throws(StoreError) {
        guard !file.isReadable, let mark = file.mark else { return }
        let left = Limits.unreadableStartsMax - mark.countStart()
        guard left > 0 else { return }
        throw .cannotOpen(
            path: file.path,
            reason: "the disk cannot read all of it: look at the disk, and start larderd again; if "
                + "that lasts, the start after \(left - 1) more takes over what can be read"
        )
    }

    private struct Start {
        let opening: StateOpening
        let writer: StateWriter
        let firstRevision: Int64
        let isBlockReserved: Bool

        init(
            _ file: DatabaseFile,
            _ shared: SharedCacheState,
            _ highest: Revision
        ) throws(StoreError) {
            let reserve = shared.reserves.state
            // On a full disk the reserve serves to open the file: without it nothing would be
            // settled.
            opening = try reserve.settle { () throws(StoreError) in
                try StateOpening(file, shared)
            }
            let writer = try StateWriter(opening.connection, shared)
            let first = max(opening.nextRevision, highest.number + 1)
            writer.openLog(last: Revision(first - 1))
            (self.writer, firstRevision) = (writer, first)
            do throws(StoreError) {
                try reserve.settle { () throws(StoreError) in
                    try writer.reserveRevisions(upTo: first + Limits.revisionBlock)
                }
                isBlockReserved = true
            } catch .diskFull {
                isBlockReserved = false
            }
            opening.connection.keepWALOnClose(false)
        }
    }

    static func database(in directory: String, _ faults: (any FaultPlan)?) -> DatabaseFile {
        DatabaseFile(
            path: directory + "/state.db",
            schema: .state,
            synchronous: "FULL",
            keepsCopy: true,
            faults: faults,
            mark: CorruptionMarker(of: directory + "/state.db")
        )
    }

    /// Names the snapshot that was set aside with the damaged file.
    ///
    /// The next snapshot has only the rows that were taken over.
    private static func snapshot(_ place: StateFileSwap) -> [String] {
        guard let taken = FileTime.changed(place.snapshotPath) else { return [] }
        return ["\(place.snapshotPath) is a copy of it of \(taken.httpDate)"]
    }

    var damageWarning: String? {
        if isLost {
            return "\(file.path) or its WAL was deleted or replaced while it is in use, so nothing "
                + "new is accepted or kept permanently: put it back, or restart the daemon, which "
                + "opens what is there"
        }
        guard let step = file.mark?.step else { return nil }
        return "\(file.path) is damaged (\(StoreError.words(step)) failed): restart the daemon, "
            + "which takes over what of it can be read"
    }

    // MARK: A lost file

    /// Whether the paths no longer lead to the files in use, which then end with the process.
    var isLost: Bool { lost.load(ordering: .relaxed) }

    private static func stamps(of file: DatabaseFile) -> [String: FileStamp] {
        let paths = DatabaseFile.suffixes.dropLast().map { file.path + $0 }
        let found = paths.compactMap { path in FileStamp(path).map { (path, $0) } }
        return Dictionary(uniqueKeysWithValues: found)
    }

    /// Compares what the paths lead to with the files in use.
    func look() {
        let now = Self.stamps(of: file)
        let isGone = stamps.contains { now[$0.key]?.isSameFile(as: $0.value) != true }
        let wasGone = lost.exchange(isGone, ordering: .relaxed)
        if isGone, !wasGone, let damageWarning { shared.findings.tell(damageWarning) }
    }

    // MARK: A full disk

    /// Runs a command that shrinks the file or settles a modifier: on a full disk once more with
    /// the space of the reserve.
    func settle<Value: Sendable>(
        cache: CommitQueue.CacheUse = .required,
        _ work: @escaping @Sendable (StoreWriter) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        try await settling { () async throws(StoreError) in
            try await commits.submit(cache: cache, work)
        }
    }

    /// Does the same for a step of several commands.
    func settling<Value: Sendable>(
        _ work: () async throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        do throws(StoreError) {
            return try await work()
        } catch {
            guard case .diskFull(file.path, _) = error, reserve.release() else { throw error }
            return try await work()
        }
    }

    /// Refuses a command that would make the file grow while the disk is full or the file is lost.
    func refuseWhileFull(_ step: String) throws(StoreError) {
        guard !isLost else {
            throw .cannotOpen(path: file.path, reason: "it was deleted or replaced while in use")
        }
        // Maintenance looks at the reserve on the disk, because this method runs on event loops.
        guard reserve.isHeld || reserve.take() else { throw .diskFull(file: file.path, step: step) }
    }

    // MARK: Durable rows

    /// Puts the rows into the index; the cache's rows under their ids are garbage.
    private static func load(_ rows: [DurableRow], into shared: SharedCacheState) {
        let index = shared.residency
        for row in rows {
            index.insert(row.name)
            index.change(row.name) { place in
                place.isPinned = row.isPinned
                place.targets += row.targets
                place.keepsShared = row.keepsShared
            }
            if row.hasEntry { index.addGarbage([RowKey(row.name.scope, row.name.id)]) }
            if row.isReferredOnly { index.addReleasable([row.name]) }
        }
        for row in rows where row.keepsShared {
            index.change(shared.sharedName(row.name.id)) { $0.targets += row.targets }
        }
    }

    /// Drops bytes of a durable row that do not match their checksum.
    ///
    /// The garbage that the cache may have of it goes first: it would be read in its place.
    func dropDamaged(
        _ scope: ScopeKey,
        _ id: EntryID,
        where isDamaged: @escaping @Sendable (DurableRow) -> Bool
    ) {
        commits.post { [commits] writer throws(StoreError) in
            try writer.pinning.hide(TargetName(scope, id))
            writer.afterCacheCommit {
                commits.post { writer throws(StoreError) in
                    try writer.state.rows.dropDamaged(TargetName(scope, id), where: isDamaged)
                }
            }
        }
    }

    func close() async throws(StoreError) {
        commits.close()
        try await commits.checkpoint(.state, truncating: true)
    }
}

/// Opens `state.db`, and reads everything that a start needs of it: damage is found and salvaged
/// before any of it is used.
struct StateOpening {
    let connection: SQLiteConnection
    let nextRevision: Int64
    let rows: [DurableRow]
    let deadTargets: [(scope: Scope, id: EntryID)]
    let aliases: [(key: AliasIndex.Key, alias: StoredTemporary)]
    let digestKey: DigestKey
    let notices: [String]
    /// Whether an earlier version or a salvage has left answers without entities and variants.
    let takesAlong: Bool

    /// Reads every page of a small file, and of one in which damage was met.
    init(_ file: DatabaseFile, _ shared: SharedCacheState) throws(StoreError) {
        let wal = DiskSpace.fileBytes(at: file.path + "-wal")
        guard wal == 0 || DiskSpace.fileBytes(at: file.path) > 0 else {
            // SQLite would delete it: it is all that is left.
            throw .corrupt(file: file.path, step: "find the file of \(file.path)-wal")
        }
        let opened = try file.openWriter()
        connection = opened.connection
        // A file that proves damaged stays as it is, with its WAL.
        connection.keepWALOnClose(true)
        let counter = try StateWriter.nextRevision(connection)
        let check = StateCheck(connection: connection)
        let isSmall = DiskSpace.fileBytes(at: file.path) <= shared.configuration.checkedStateBytes
        if isSmall || file.mark?.isThere == true {
            // Damage found now can be salvaged in part, before later writes go over it.
            try check.readPages()
        } else {
            try check.readQueue()
        }
        try Self.shrink(connection)
        try check.run()
        digestKey = try Self.secret(of: connection)
        nextRevision = max(counter, try check.nextRevision())
        // The log cannot have changes of steps that are still to come.
        let first = nextRevision * ChangeLog.places
        try connection.execute("DELETE FROM change_log WHERE change < 0 OR change >= \(first)")
        try connection.execute("PRAGMA foreign_keys=ON")
        if try connection.integer("SELECT 1 FROM hidden LIMIT 1") != nil { shared.noteHiddenRow() }
        let reader = try StateReader(connection, shared)
        rows = try reader.allRows()
        deadTargets = try reader.deadTargets()
        aliases = try TemporaryRows(connection: connection).aliases()
        takesAlong = try connection.integer("SELECT takes_along FROM revision_block") == 1
        notices = [opened.migratedFrom].compactMap { $0 }.map { old in
            "\(file.path) was brought from version \(old) to \(Schema.state.steps.count); "
                + "\(file.copyPath(before: old)) holds it as it was"
        }
    }

    /// The secret of the file, drawn again if the file has no readable one.
    private static func secret(of connection: SQLiteConnection) throws(StoreError) -> DigestKey {
        try connection.execute(
            """
            INSERT OR REPLACE INTO secret (one, digest_key) SELECT 1, randomblob(16)
            WHERE NOT EXISTS (SELECT 1 FROM secret
                WHERE one = 1 AND typeof(digest_key) = 'blob' AND length(digest_key) = 16)
            """
        )
        let row = try connection.prepare("SELECT digest_key FROM secret WHERE one = 1")
        guard try row.step(), let key = DigestKey(Array(row.bytes(.only))) else {
            throw .corrupt(file: connection.path, step: "read the secret of \(connection.path)")
        }
        return key
    }

    /// Turns on incremental vacuum in a file of version 1, which gave no pages back.
    ///
    /// Such a file has a few pages, so rewriting it costs nothing.
    private static func shrink(_ connection: SQLiteConnection) throws(StoreError) {
        guard try connection.integer("PRAGMA auto_vacuum") == 0 else { return }
        try connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
        try connection.execute("VACUUM")
    }
}
