package import LarderModel
import Synchronization

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
