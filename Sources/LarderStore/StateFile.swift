import Glibc
import LarderModel

/// `state.db`: what must survive the loss of the cache.
///
/// The reserved revisions, what is kept with its bytes, the origins that were set offline. Written by
/// one ``StateWriter`` behind a queue of its own, every commit synced; read through connections
/// that only read.
final class StateFile: Sendable {
    let file: DatabaseFile
    private let reserve: Reserve
    private let changes: ChangeFeed
    /// Which bodies of kept rows are being read.
    let leases = BodyLeases()
    let queue: CommitQueue<StateWriter>
    /// The first revision that was not reserved when the file was opened.
    let foundNextRevision: Int64
    /// The first revision that was never given.
    private let firstRevision: Int64
    /// Whether a block is reserved from it on; on a full disk the first that wants one tries again.
    private let isBlockReserved: Bool
    /// What secrets are told apart by; drawn when the file was made.
    let digestKey: DigestKey
    /// What was found wrong with the file, in words for the log.
    let findings: [String]
    /// What was done to the file and is as it should be.
    let notices: [String]

    /// Opens or makes the file.
    ///
    /// A damaged one is set aside and made anew with the rows of it that can be read, and its
    /// counter goes on after `highest`, the highest revision that the cache knows. Before one of an
    /// earlier version is migrated it is copied; see ``DatabaseFile/copyBeforeMigration(from:)``.
    init(
        directory: String,
        highest: Revision,
        index: KeptIndex,
        watches: RowWatches,
        changes: ChangeFeed,
        reserve: Reserve,
        limits: QueueLimits = QueueLimits(),
        viewChange: @escaping ViewChange.Comparison,
        faults: (any FaultPlan)?,
        now: @escaping @Sendable () -> Timestamp
    ) throws(StoreError) {
        self.reserve = reserve
        self.changes = changes
        file = Self.database(in: directory, faults)
        let opened: (connection: SQLiteConnection, notices: [String])
        try StateSalvage.finishEarlier(file)
        do throws(StoreError) {
            opened = try Self.open(file, reserve)
            findings = []
        } catch .corrupt(let step) {
            let saved = try StateSalvage.replace(file)
            opened = try Self.open(file, reserve)
            findings =
                [
                    "\(StoreError.corrupt(step: step).message): it was set aside as "
                        + "\(file.path).aside and made anew; \(saved.rows) rows of it could be read and "
                        + "were taken over"
                ] + saved.findings + Self.setSnapshotAside(file)
        }
        notices = opened.notices
        digestKey = try Self.digestKey(opened.connection)
        let writer = try StateWriter(
            connection: opened.connection,
            index: index,
            watches: watches,
            changes: changes,
            leases: leases,
            limits: limits,
            viewChange: viewChange
        )
        let next = try StateWriter.nextRevision(opened.connection)
        foundNextRevision = next
        firstRevision = max(next, highest.number + 1)
        writer.openLog(last: Revision(firstRevision - 1))
        isBlockReserved = try Self.reserveBlock(writer, firstRevision, reserve)
        reserve.take()
        queue = CommitQueue(writer, label: "larder.state-writer", now: now)
    }

    static func database(in directory: String, _ faults: (any FaultPlan)?) -> DatabaseFile {
        DatabaseFile(
            path: directory + "/state.db",
            schema: .state,
            synchronous: "FULL",
            keepsCopy: true,
            faults: faults
        )
    }

    /// On a full disk the reserve serves to open the file: without it nothing would be settled.
    private static func open(
        _ file: DatabaseFile,
        _ reserve: Reserve
    ) throws(StoreError) -> (connection: SQLiteConnection, notices: [String]) {
        do throws(StoreError) {
            return try open(file)
        } catch .diskFull(let step) {
            guard reserve.release() else { throw .diskFull(step: step) }
            return try open(file)
        }
    }

    /// Keeps the whole copy with the damaged file, for who looks for what could not be read: the next
    /// one has no more than was taken over.
    private static func setSnapshotAside(_ file: DatabaseFile) -> [String] {
        let aside = file.path + ".aside.snapshot"
        guard let taken = FileTime.changed(file.snapshotPath),
            rename(file.snapshotPath, aside) == 0
        else { return [] }
        return ["\(aside) is a copy of it of \(taken.httpDate)"]
    }

    private static func reserveBlock(
        _ writer: StateWriter,
        _ first: Int64,
        _ reserve: Reserve
    ) throws(StoreError) -> Bool {
        for _ in 0..<2 {
            do throws(StoreError) {
                try writer.reserveRevisions(upTo: first + Limits.revisionBlock)
                return true
            } catch {
                guard case .diskFull = error else { throw error }
                guard reserve.release() else { return false }
            }
        }
        return false
    }

    /// Opens the file and reads its counter, as a cut file is found out no earlier.
    private static func open(
        _ file: DatabaseFile
    ) throws(StoreError) -> (connection: SQLiteConnection, notices: [String]) {
        let opened = try file.openWriter()
        _ = try StateWriter.nextRevision(opened.connection)
        try check(opened.connection)
        try drawSecret(opened.connection)
        // Version 1 gave no pages back; it is a few pages long, so writing it anew costs nothing.
        if try opened.connection.integer("PRAGMA auto_vacuum") == 0 {
            try opened.connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
            try opened.connection.execute("VACUUM")
        }
        let notices = opened.migratedFrom.map { version in
            "\(file.path) was brought from version \(version) to \(Schema.state.steps.count); "
                + "\(file.copyPath) holds it as it was"
        }
        return (opened.connection, notices.map { [$0] } ?? [])
    }

    /// Reads every page of a file that is not too large for that: what is damaged now can be saved
    /// in part, before more is written over it.
    private static func check(_ connection: SQLiteConnection) throws(StoreError) {
        let bytes = DiskSpace.fileBytes(at: connection.path)
        guard bytes <= Limits.checkedStateBytesMax else { return }
        guard try connection.text("PRAGMA quick_check(1)") == "ok" else {
            connection.keepWALOnClose(true)
            throw .corrupt(step: "check \(connection.path)")
        }
    }

    /// The secret of the file, drawn anew where it has none that can be read.
    private static func digestKey(
        _ connection: SQLiteConnection
    ) throws(StoreError) -> DigestKey {
        let row = try connection.prepare("SELECT digest_key FROM secret WHERE one = 1")
        guard try row.step(), let key = DigestKey(Array(row.bytes(0))) else {
            throw .corrupt(step: "read the secret of \(connection.path)")
        }
        return key
    }

    private static func drawSecret(_ connection: SQLiteConnection) throws(StoreError) {
        try connection.execute(
            """
            INSERT OR REPLACE INTO secret (one, digest_key) SELECT 1, randomblob(16)
            WHERE NOT EXISTS (SELECT 1 FROM secret
                WHERE one = 1 AND typeof(digest_key) = 'blob' AND length(digest_key) = 16)
            """
        )
    }

    /// The counter that goes on where the file says.
    func makeRevisionSource() -> RevisionSource {
        RevisionSource(
            first: firstRevision,
            isReserved: isBlockReserved,
            changes: changes
        ) { [queue, reserve] end throws(StoreError) in
            try reserve.settle { () throws(StoreError) in
                try queue.submitBlocking { writer throws(StoreError) in
                    try writer.reserveRevisions(upTo: end)
                }
            }
        }
    }

    // MARK: A full disk

    /// Does what shrinks the file or settles what is under way: on a full disk with the space of
    /// the reserve.
    func settle<Value: Sendable>(
        _ work: @escaping @Sendable (StateWriter) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        do throws(StoreError) {
            return try await queue.submit(work)
        } catch .diskFull(let step) {
            guard reserve.release() else { throw .diskFull(step: step) }
            return try await queue.submit(work)
        }
    }

    /// Refuses what would have the file grow while the disk is full: the space that is left is for
    /// what is there already.
    func refuseWhileFull(_ step: String) throws(StoreError) {
        guard reserve.take() else { throw .diskFull(step: step) }
    }

    // MARK: Kept rows

    /// Opens another connection that only reads.
    func makeReader() throws(StoreError) -> KeptReader {
        try KeptReader(try file.openReader(cacheBytes: Limits.keptPageCacheBytes))
    }

    /// Finds out what is kept; rows of the cache that stand in its way go soon.
    func load(into shared: SharedCacheState) throws(StoreError) {
        let reader = try makeReader()
        var last: Int64 = 0
        while true {
            let page = try reader.rows(after: last, limit: Limits.pageRowsMax)
            guard let end = page.last else { return }
            last = end.number
            for row in page {
                let scope = shared.key(for: row.scope)
                shared.kept.insert(scope, row.id)
                shared.kept.setPinned(scope, row.id, row.isPinned)
                shared.kept.addTargets(scope, row.id, row.targets)
                if row.isShared { shared.kept.follow(scope, row.id) }
            }
            shared.kept.hasShadows = true
        }
    }

    /// Drops bytes of a kept row that do not match their checksum, of which nobody waits to hear.
    func dropDamaged(_ scope: ScopeKey, _ id: EntryID, _ digest: Digest) {
        queue.post { writer throws(StoreError) in
            try writer.dropDamaged(scope, id, where: { $0.digest == digest })
        }
    }

    /// The same for a body in chunks.
    func dropDamaged(_ scope: ScopeKey, _ id: EntryID, body: Int64) {
        queue.post { writer throws(StoreError) in
            try writer.dropDamaged(scope, id, where: { $0.body == body })
        }
    }

    // MARK: Origins that were set offline

    /// Read from a connection of its own: asked once at start.
    func offlineOrigins() throws(StoreError) -> Set<String> {
        let connection = try file.openReader(cacheBytes: 0)
        let statement = try connection.prepare("SELECT name FROM offline_origin")
        var names: Set<String> = []
        while try statement.step() {
            if let name = statement.text(0) { names.insert(name) }
        }
        return names
    }

    /// Written down and synced when it returns.
    func setOffline(_ name: String, _ isOffline: Bool) async throws(StoreError) {
        try await settle { writer throws(StoreError) in
            try writer.setOffline(name, isOffline)
        }
    }

    // MARK: Housekeeping and the end

    /// Gives pages back in an idle moment.
    func maintain() async throws(StoreError) {
        guard queue.isIdle else { return }
        let gaveBack = try await queue.submit { writer throws(StoreError) in
            try writer.vacuumStep()
        }
        if gaveBack { try await queue.checkpoint(truncating: false) }
    }

    /// Writes the WAL back into the file and takes no more commands.
    func close() async throws(StoreError) {
        try await queue.checkpoint(truncating: true)
        queue.close()
    }
}

extension StateFile {
    /// The file of a store; `highest` is the highest revision that the cache knows.
    convenience init(
        _ configuration: StoreConfiguration,
        highest: Revision,
        shared: SharedCacheState,
        reserve: Reserve,
        now: @escaping @Sendable () -> Timestamp
    ) throws(StoreError) {
        try self.init(
            directory: configuration.stateDirectory,
            highest: highest,
            index: shared.kept,
            watches: shared.watches,
            changes: shared.changes,
            reserve: reserve,
            limits: configuration.queue,
            viewChange: configuration.viewChange,
            faults: configuration.faults,
            now: now
        )
    }
}
