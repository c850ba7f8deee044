import Glibc
package import LarderModel
import Synchronization

extension StoreReader {
    /// Runs reads that see one moment: no commit comes between them (rule: no torn tree).
    ///
    /// The reads see one commit of `state.db`, from their first look on. They run again in two
    /// cases:
    ///
    /// - A file had a group by then that was not published in memory.
    /// - An id moved between the files.
    ///
    /// For another run the reader first opens both files, until neither is ahead. `state.db` then
    /// decides for every durable row, so that no settlement makes the reads run once more.
    package func inConsistentSnapshot<Value>(
        _ work: () throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        guard cache.hold == .none else { return try work() }
        var round = 0
        while true {
            let moves = shared.residency.moves
            let released = shared.changes.published
            (cache.hold, looksIntoState) = (.begun, round > 0)
            defer {
                (cache.hold, looksIntoState) = (.none, false)
                letStateGo()
                round += 1
            }
            let isLast = round >= Limits.momentRoundsMax
            if round > 0, !isLast, isAhead(of: released, opening: true) {
                try waitForWriter(round)
                continue
            }
            let value = try work()
            let now = shared.residency.moves
            let isOne =
                round > 0
                ? now.removals == moves.removals
                : now == moves && !isAhead(of: released, opening: false)
            if isOne || isLast { return value }
        }
    }

    /// The writer is between its two commits, and about to be done.
    ///
    /// An event loop looks a few times only, and then lets another thread read.
    private func waitForWriter(_ round: Int) throws(StoreError) {
        if round < Limits.yieldedRoundsMax {
            sched_yield()
        } else if loopBudget.isBounded {
            throw .overLoopBudget
        } else {
            usleep(100)
        }
    }

    /// Whether a file that is read has steps of a group that is not published.
    ///
    /// With `opening`, the reader opens both files now. Otherwise it asks only files that are open.
    private func isAhead(of released: Revision, opening: Bool) -> Bool {
        if shared.residency.isEmpty { return false }
        do throws(StoreError) {
            let state = opening ? try stateReader() : heldState
            guard let state else { return false }
            // If nothing was read of the cache yet, the cache has no moment to compare.
            guard opening || cache.hold == .held else { return try state.lastStep() > released }
            let last = try cache.reading { file throws(StoreError) in try file.lastStep() }
            return try max(state.lastStep(), last ?? Revision(0)) > released
        } catch {
            // The next read meets the error.
            return false
        }
    }

    /// Hands an id's row to `read` if that row alone is what its client sees.
    ///
    /// Then no modifier and no dead letter changes the id, and the client sees the row as stored.
    /// Nearly every hit is like that, so nothing here is generic or allocated. If the result is
    /// false, there is more to read or a read failed, and the caller drops what `read` was given.
    package func fastPathRow(
        _ scope: ScopeKey,
        _ id: EntryID,
        now: Timestamp,
        _ read: (borrowing EntryRow) -> Void
    ) -> Bool {
        let moves = shared.residency.moves
        guard mayUseFastPath(scope, id) else { return false }
        do throws(StoreError) {
            if shared.residency.covers(scope, id) {
                guard try plainSavedRow(scope, id, now: now, read), shared.residency.moves == moves
                else { return false }
                notes?.plain = (scope, id)
                return true
            }
            guard let file = try cache.openTransaction() else { return false }
            let key = RowKey(scope, id)
            defer { file.get.reset() }
            guard try file.find(key, scope, id) else { return false }
            let row = EntryRow(file.get)
            guard row.kind == .blob || row.kind == .fetched, !row.isExpired(at: now),
                row.skeleton == nil, row.isComplete, row.isSound
            else { return false }
            read(row)
            noteUse(of: key)
            // A row that moved between the files meanwhile may be older or newer here.
            guard shared.residency.moves == moves else { return false }
            notes?.plain = (scope, id)
            return true
        } catch {
            // The full read meets the error again.
            return false
        }
    }

    func mayUseFastPath(_ scope: ScopeKey, _ id: EntryID) -> Bool {
        (shared.residency.place(scope, id)?.targets ?? 0) == 0
            && !shared.residency.mayHaveDeadLetters(scope, id)
    }
}

/// Tells, without a look into a file, whether a read would return the same again.
package struct ReadVersion: Sendable {
    fileprivate let generation: Generation
    fileprivate let moves: ResidencyIndex.IndexEpoch
    fileprivate let origins: Int
    /// Scope and id of a plain row; the stamp then depends on that id alone.
    package let plain: (scope: ScopeKey, id: EntryID)?
    fileprivate let numbers: [UInt32]
    fileprivate let use: RowUse

    fileprivate static let rowsMax = 64
}

struct ReadSet {
    /// The rows of `cache.db`, those too that were not there; no more than count, and one.
    private(set) var rows: [RowKey] = []
    var looksIntoState = false
    var plain: (scope: ScopeKey, id: EntryID)?

    mutating func add(_ key: RowKey) { if rows.count <= ReadVersion.rowsMax { rows.append(key) } }
}

extension StoreReader {
    /// Runs a read, and returns a stamp with which it can be checked later.
    ///
    /// The stamp is nil if no later check is possible:
    ///
    /// - A commit came between.
    /// - `state.db` took part.
    /// - There is no file.
    /// - More rows took part than are worth a check each time.
    package func stamping<Value>(_ read: () -> Value) -> (value: Value, stamp: ReadVersion?) {
        let (commit, generation) = (shared.commitNumber, shared.generation)
        let stateCommit = shared.residency.commitNumber
        let (moves, origins) = (shared.residency.moves, shared.originsVersion)
        guard !shared.stamps.isCommitting, generation.hasFile else { return (read(), nil) }
        notes = ReadSet()
        defer { notes = nil }
        let value = read()
        guard let notes, !notes.looksIntoState,
            notes.plain != nil || !shared.residency.hasDeadLetters
        else { return (value, nil) }
        let keys = notes.plain.map { [RowKey($0.scope, $0.id)] } ?? notes.rows
        guard !keys.isEmpty, keys.count <= ReadVersion.rowsMax else { return (value, nil) }
        let stamp = ReadVersion(
            generation: generation,
            moves: moves,
            origins: origins,
            plain: notes.plain,
            numbers: keys.map { shared.stamps[$0] },
            use: RowUse(keys)
        )
        // Otherwise a row may have been read before a commit, and its number after it.
        let isOneMoment =
            !shared.stamps.isCommitting && shared.commitNumber == commit
            && shared.residency.commitNumber == stateCommit
        return (value, isOneMoment ? stamp : nil)
    }

    /// Whether the read would return the same again if no time had passed; if so, it uses its rows.
    ///
    /// The index of `state.db` is asked first, because rows may move into the cache meanwhile. It
    /// is asked again at the end, because rows may have moved into `state.db`.
    package func stillSays(_ stamp: ReadVersion) -> Bool {
        let moves = shared.residency.moves
        if let plain = stamp.plain {
            guard mayUseFastPath(plain.scope, plain.id) else { return false }
        } else {
            guard moves == stamp.moves, !shared.residency.hasDeadLetters,
                shared.originsVersion == stamp.origins
            else { return false }
        }
        guard shared.generation == stamp.generation,
            zip(stamp.use.keys, stamp.numbers).allSatisfy({ shared.stamps[$0] == $1 }),
            shared.residency.moves == moves
        else { return false }
        noteUse(stamp.use)
        return true
    }
}

/// A number for each row of both files, which rises whenever the row may have changed.
///
/// A cached response is valid as long as no number of its rows has risen. The writer raises numbers
/// before it commits, so no old response is returned once a reader may see the new state. Until the
/// commit is published, a reader may still read the old state, and keeps nothing. Many rows share a
/// number.
final class RowVersions: Sendable {
    private static let count = 1 << 16

    // Each number is an atomic: released as it is raised, acquired as it is read. The place never
    // moves, and is freed with the last reference to this.
    nonisolated(unsafe) private let numbers: UnsafeMutablePointer<Atomic<UInt32>>
    // Stored before numbers rise, released after the commit; acquired after a number is read.
    private let committing = Atomic<Bool>(false)

    init() {
        numbers = .allocate(capacity: Self.count)
        for place in 0..<Self.count { (numbers + place).initialize(to: Atomic(0)) }
    }

    deinit {
        numbers.deinitialize(count: Self.count)
        numbers.deallocate()
    }

    subscript(key: RowKey) -> UInt32 { numbers[Self.place(of: key)].load(ordering: .acquiring) }

    /// Whether rows with new numbers may still be read as they were; to be asked after a number.
    var isCommitting: Bool { committing.load(ordering: .acquiring) }

    func commitBegins(changing keys: [RowKey]) {
        committing.store(true, ordering: .relaxed)
        for key in keys { numbers[Self.place(of: key)].wrappingAdd(1, ordering: .releasing) }
    }

    func commitEnded() { committing.store(false, ordering: .releasing) }

    /// The last four bits of a key are zero.
    private static func place(of key: RowKey) -> Int {
        Int(truncatingIfNeeded: key.number >> 4) & (count - 1)
    }
}
