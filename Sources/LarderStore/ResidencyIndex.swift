import LarderModel
import Synchronization

/// Which ids are durable, and which dead letters target, in memory: readers ask it before they
/// look, and the writer at each put.
///
/// Guarded by its locks, changed by the writer's thread alone. An id is in it from before the
/// commit that makes its row in `state.db` until after the one that takes it away.
final class ResidencyIndex: Sendable {
    struct RowLocation: Equatable {
        let row: RowKey
        var isPinned = false
        var targets = 0
        var isGivenUp = false
        /// Whether it keeps the shared row under its id, which is what its user sees.
        var keepsShared = false

        var isReleased: Bool { !isPinned && targets == 0 }
    }

    private struct Keys {
        var places: [ResidencyKey: RowLocation] = [:]
        var counts: [RowKey: Int] = [:]
    }

    private let keys = Mutex(Keys())
    /// The changes of dead letters by the ids that they target.
    ///
    /// An id is in it from before the commit that makes the dead letter. It leaves after the commit
    /// that ends it.
    private let dead = Mutex<[ResidencyKey: Int]>([:])
    // As `count`, of the ids of `dead`.
    private let deadCount = Atomic<Int>(0)
    // Released after a change of the keys, acquired before a look at them, so that readers need no
    // lock while nothing is kept.
    private let count = Atomic<Int>(0)
    /// Rows of `cache.db` that may be garbage: of each of them `state.db` has the row that is read.
    private let garbage = Mutex<Set<RowKey>>([])
    private let releasable = Mutex<Set<TargetName>>([])
    // Released when an id starts to be read from the other file, or to be targeted. A reader
    // acquires it before and after its reads.
    private let arrived = Atomic<Int>(0)
    private let removed = Atomic<Int>(0)
    // Released once a group that has changed `state.db` is done with; acquired before and after a
    // read.
    private let commits = Atomic<Int>(0)
    private let publishedPins = Mutex(PinTotals())
    private let publishedQueue = Mutex(QueueTotals())
    let pinsUpdated = CommitListener<Void>()
    let modifiersLeft = CommitListener<[ModifierNumber]>()
    let modifiersRenamed = CommitListener<RenamedModifiers>()

    var commitNumber: Int { commits.load(ordering: .acquiring) }
    func commitPublished() { commits.add(1, ordering: .releasing) }
    var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

    func place(_ scope: ScopeKey, _ id: EntryID) -> RowLocation? {
        guard count.load(ordering: .acquiring) > 0 else { return nil }
        let key = ResidencyKey(scope, id)
        return keys.withLock { $0.places[key] }
    }

    func covers(_ scope: ScopeKey, _ id: EntryID) -> Bool { place(scope, id) != nil }

    func covers(_ key: RowKey) -> Bool {
        guard count.load(ordering: .acquiring) > 0 else { return false }
        return keys.withLock { $0.counts[key] != nil }
    }

    func insert(_ name: TargetName) {
        let (key, row) = (ResidencyKey(name.scope, name.id), RowKey(name.scope, name.id))
        keys.withLock { keys in
            guard keys.places[key] == nil else {
                keys.places[key]?.isGivenUp = false
                return
            }
            keys.places[key] = RowLocation(row: row)
            keys.counts[row, default: 0] += 1
            count.store(keys.places.count, ordering: .releasing)
            arrived.add(1, ordering: .releasing)
        }
    }

    func removeGivenUp(_ name: TargetName) {
        if place(name.scope, name.id)?.isGivenUp == true { remove(name) }
    }

    func remove(_ name: TargetName) {
        let key = ResidencyKey(name.scope, name.id)
        let row: RowKey? = keys.withLock { keys in
            guard let row = keys.places.removeValue(forKey: key)?.row else { return nil }
            let left = keys.counts[row, default: 1] - 1
            keys.counts[row] = left == 0 ? nil : left
            count.store(keys.places.count, ordering: .releasing)
            removed.add(1, ordering: .releasing)
            return left == 0 ? row : nil
        }
        // A row that the cache stores under this id later is no garbage, even if the id becomes
        // durable again.
        if let row { removeGarbage([row]) }
    }

    /// Changes the entry of a durable id; returns the entry as it was, or nil if the id is not
    /// durable.
    @discardableResult func change(
        _ name: TargetName,
        _ make: (inout RowLocation) -> Void
    ) -> RowLocation? {
        let key = ResidencyKey(name.scope, name.id)
        return keys.withLock { keys in
            guard let before = keys.places[key] else { return nil }
            var place = before
            make(&place)
            keys.places[key] = place
            if before.targets == 0, place.targets > 0 { arrived.add(1, ordering: .releasing) }
            return before
        }
    }

    /// How often ids moved to `state.db`, and back to the cache.
    ///
    /// If either number has moved, a read may have seen the state before. An id that comes to be
    /// targeted counts as moved to `state.db` again, because it shows under other ids from then on.
    typealias IndexEpoch = (arrivals: Int, removals: Int)

    var moves: IndexEpoch {
        (arrived.load(ordering: .acquiring), removed.load(ordering: .acquiring))
    }

    func addGarbage(_ keys: some Sequence<RowKey>) { garbage.withLock { $0.formUnion(keys) } }
    func removeGarbage(_ keys: some Sequence<RowKey>) { garbage.withLock { $0.subtract(keys) } }
    func someGarbage(atMost limit: Int) -> [RowKey] { garbage.withLock { Array($0.prefix(limit)) } }

    func isGarbage(_ key: RowKey) -> Bool {
        guard count.load(ordering: .acquiring) > 0 else { return false }
        return garbage.withLock { $0.contains(key) } && covers(key)
    }

    /// Rows of `state.db` that nothing may keep any more: maintenance looks at them.
    func addReleasable(_ names: some Sequence<TargetName>) {
        releasable.withLock { $0.formUnion(names) }
    }

    func takeReleasable(atMost limit: Int) -> [TargetName] {
        releasable.withLock { names in
            let taken = Array(names.prefix(limit))
            names.subtract(taken)
            return taken
        }
    }

    func addDeadLetters(_ scope: ScopeKey, _ id: EntryID, _ added: Int) {
        let key = ResidencyKey(scope, id)
        dead.withLock { dead in
            let sum = dead[key, default: 0] + added
            dead[key] = sum == 0 ? nil : sum
            deadCount.store(dead.count, ordering: .releasing)
        }
    }

    func mayHaveDeadLetters(_ scope: ScopeKey, _ id: EntryID) -> Bool {
        guard hasDeadLetters else { return false }
        let key = ResidencyKey(scope, id)
        return dead.withLock { $0[key] != nil }
    }

    var deadLetters: [ResidencyKey: Int] { dead.withLock { $0 } }
    var hasDeadLetters: Bool { deadCount.load(ordering: .acquiring) > 0 }
    func publish(_ totals: PinTotals) { publishedPins.withLock { $0 = totals } }
    var pinTotals: PinTotals { publishedPins.withLock { $0 } }
    func publish(_ totals: QueueTotals) { publishedQueue.withLock { $0 = totals } }
    var queueTotals: QueueTotals { publishedQueue.withLock { $0 } }
}

/// Hears of something after its commit, on the writer's thread.
final class CommitListener<Event>: Sendable {
    private let hears = Mutex<@Sendable (Event) -> Void>({ _ in })

    func set(_ hears: @escaping @Sendable (Event) -> Void) { self.hears.withLock { $0 = hears } }
    func tell(_ event: Event) { hears.withLock { $0 }(event) }
}

/// Which durable row: 128 bits of a keyed hash of scope and id, which are compared in full before
/// anything is read.
struct ResidencyKey: Hashable, Sendable {
    private let digest: Digest

    init(_ scope: ScopeKey, _ id: EntryID) {
        digest = Checksum.keyedDigest(id.text, seed: scope.seed)
    }
}
