import LarderModel
import Synchronization

/// Which ids are durable, and which dead letters target, in memory: what readers ask before they look,
/// and the writer at each put.
///
/// Guarded by its locks, changed by the writer's thread alone. An id is in it from before the commit
/// that makes its row in `state.db` until after the one that takes it away, so whoever does not find
/// it here need not look there.
final class ResidencyIndex: Sendable {
    struct Place: Equatable {
        /// By the hash under which a row of the cache would stand.
        let row: RowKey
        var isPinned = false
        /// How many unsettled changes target it, or are about to.
        var targets = 0
        /// Whether the open group takes its row away.
        var isGivenUp = false
        /// Whether it keeps the shared row under its id, which is what its user sees.
        var keepsShared = false

        var isReleased: Bool { !isPinned && targets == 0 }
    }

    private struct Keys {
        var places: [ResidencyKey: Place] = [:]
        var counts: [RowKey: Int] = [:]
    }

    private let keys = Mutex(Keys())
    /// The changes of dead letters by the ids that they target: from before the commit by which one
    /// dies until after that by which it is no dead letter any more.
    private let dead = Mutex<[ResidencyKey: Int]>([:])
    // As `count`, of the ids of `dead`.
    private let deadCount = Atomic<Int>(0)
    let sharedScope: ScopeKey
    private let keySeed: UInt64
    private let hashMask: UInt64
    // Released after a change of the keys, acquired before a look at them, so that readers need no
    // lock while nothing is kept.
    private let count = Atomic<Int>(0)
    /// Rows of `cache.db` that may be garbage: of each of them `state.db` has the row that is read.
    private let garbage = Mutex<Set<RowKey>>([])
    private let releasable = Mutex<Set<TargetName>>([])
    // Released when an id is read from the other file from now on, or comes to be targeted; acquired
    // by a read before and after its looks.
    private let arrived = Atomic<Int>(0)
    private let removed = Atomic<Int>(0)
    // Released once a group that has changed `state.db` is done with; acquired before and after a read.
    private let commits = Atomic<Int>(0)
    private let publishedPins: Mutex<PinTotals>
    private let publishedQueue = Mutex(QueueTotals(maxModifiers: 0, maxBytes: 0))
    private let listener = Mutex<@Sendable () -> Void>({})
    private let leavingListener = Mutex<@Sendable ([ModifierNumber]) -> Void>({ _ in })

    init(pinsMaxBytes: Int64, keySeed: UInt64, hashMask: UInt64) {
        publishedPins = Mutex(PinTotals(maxBytes: pinsMaxBytes))
        (self.keySeed, self.hashMask) = (keySeed, hashMask)
        sharedScope = ScopeKey(.shared, seed: keySeed, hashMask: hashMask)
    }

    func key(for scope: Scope) -> ScopeKey { ScopeKey(scope, seed: keySeed, hashMask: hashMask) }

    /// How many groups have changed `state.db`.
    var commitNumber: Int { commits.load(ordering: .acquiring) }
    func commitPublished() { commits.add(1, ordering: .releasing) }
    var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

    func place(_ scope: ScopeKey, _ id: EntryID) -> Place? {
        guard count.load(ordering: .acquiring) > 0 else { return nil }
        let key = ResidencyKey(scope, id)
        return keys.withLock { $0.places[key] }
    }

    func covers(_ scope: ScopeKey, _ id: EntryID) -> Bool { place(scope, id) != nil }

    /// Whether a row of the cache may be one of a durable id.
    func covers(_ key: RowKey) -> Bool {
        guard count.load(ordering: .acquiring) > 0 else { return false }
        return keys.withLock { $0.counts[key] != nil }
    }

    func insert(_ scope: ScopeKey, _ id: EntryID) {
        let (key, row) = (ResidencyKey(scope, id), RowKey(scope, id))
        keys.withLock { keys in
            guard keys.places[key] == nil else {
                keys.places[key]?.isGivenUp = false
                return
            }
            keys.places[key] = Place(row: row)
            keys.counts[row, default: 0] += 1
            count.store(keys.places.count, ordering: .releasing)
            arrived.add(1, ordering: .releasing)
        }
    }

    /// Says whether the open group takes an id's row away; a later command of it may claim it again.
    func setGivenUp(_ scope: ScopeKey, _ id: EntryID, _ isGivenUp: Bool) {
        change(scope, id) { $0.isGivenUp = isGivenUp }
    }

    /// Takes an id out whose row is gone.
    func removeGivenUp(_ scope: ScopeKey, _ id: EntryID) {
        if place(scope, id)?.isGivenUp == true { remove(scope, id) }
    }

    /// Takes an id out that has no row.
    func remove(_ scope: ScopeKey, _ id: EntryID) {
        let key = ResidencyKey(scope, id)
        keys.withLock { keys in
            guard let place = keys.places.removeValue(forKey: key) else { return }
            let row = place.row
            let left = keys.counts[row, default: 1] - 1
            keys.counts[row] = left == 0 ? nil : left
            count.store(keys.places.count, ordering: .releasing)
            removed.add(1, ordering: .releasing)
        }
    }

    func setPinned(_ scope: ScopeKey, _ id: EntryID, _ isPinned: Bool) {
        change(scope, id) { $0.isPinned = isPinned }
    }

    func addTargets(_ scope: ScopeKey, _ id: EntryID, _ count: Int) {
        change(scope, id) { $0.targets += count }
    }

    private func change(_ scope: ScopeKey, _ id: EntryID, _ make: (inout Place) -> Void) {
        let key = ResidencyKey(scope, id)
        keys.withLock { keys in
            guard var place = keys.places[key] else { return }
            let before = place
            make(&place)
            keys.places[key] = place
            if before.targets == 0, place.targets > 0 { arrived.add(1, ordering: .releasing) }
        }
    }

    /// How often an id came to be read from `state.db`, and from the cache again: where one has moved, a
    /// read may have met what was before.
    ///
    /// A durable id arrives once more when it comes to be targeted: from then on it shows under other
    /// ids, too, whose reads had no need to look for it.
    struct Moves: Equatable {
        let arrivals: Int
        let removals: Int
    }

    var moves: Moves {
        Moves(
            arrivals: arrived.load(ordering: .acquiring),
            removals: removed.load(ordering: .acquiring)
        )
    }

    /// The row of the cache is read no more once the open group is committed.
    func addGarbage(_ keys: some Sequence<RowKey>) { garbage.withLock { $0.formUnion(keys) } }
    func removeGarbage(_ keys: some Sequence<RowKey>) { garbage.withLock { $0.subtract(keys) } }
    func someGarbage(atMost limit: Int) -> [RowKey] { garbage.withLock { Array($0.prefix(limit)) } }

    /// Whether the cache has a row under this key that is garbage, of a durable id.
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

    func setKeepsShared(_ scope: ScopeKey, _ id: EntryID, _ keepsShared: Bool) {
        change(scope, id) { $0.keepsShared = keepsShared }
    }

    func keepsShared(_ scope: ScopeKey, _ id: EntryID) -> Bool {
        place(scope, id)?.keepsShared == true
    }

    func addDeadLetters(_ scope: ScopeKey, _ id: EntryID, _ added: Int) {
        let key = ResidencyKey(scope, id)
        dead.withLock { dead in
            let sum = dead[key, default: 0] + added
            dead[key] = sum == 0 ? nil : sum
            deadCount.store(dead.count, ordering: .releasing)
        }
    }

    /// Whether dead letters may target an id; where not, none does.
    func mayHaveDeadLetters(_ scope: ScopeKey, _ id: EntryID) -> Bool {
        guard hasDeadLetters else { return false }
        let key = ResidencyKey(scope, id)
        return dead.withLock { $0[key] != nil }
    }

    /// Of each id that dead letters target how many of their changes do.
    var deadLetters: [ResidencyKey: Int] { dead.withLock { $0 } }
    var hasDeadLetters: Bool { deadCount.load(ordering: .acquiring) > 0 }
    func publish(_ totals: PinTotals) { publishedPins.withLock { $0 = totals } }
    var pinTotals: PinTotals { publishedPins.withLock { $0 } }
    func publish(_ totals: QueueTotals) { publishedQueue.withLock { $0 = totals } }
    var queueTotals: QueueTotals { publishedQueue.withLock { $0 } }

    /// Has `tell` called whenever a pin has got what it wanted, or has come to want it by itself.
    func whenNews(_ tell: @escaping @Sendable () -> Void) { listener.withLock { $0 = tell } }
    func tellNews() { listener.withLock { $0 }() }

    /// Has `tell` called with those that an answer has settled, once it is committed.
    func whenLeft(_ tell: @escaping @Sendable ([ModifierNumber]) -> Void) {
        leavingListener.withLock { $0 = tell }
    }

    func tellLeft(_ numbers: [ModifierNumber]) { leavingListener.withLock { $0 }(numbers) }
}

/// Which durable row: 128 bits of a keyed hash of scope and id, under a secret seed.
///
/// It routes: what it leads to is compared by scope and id in full before anything is read.
struct ResidencyKey: Hashable, Sendable {
    private let digest: Digest

    init(_ scope: ScopeKey, _ id: EntryID) {
        digest = Checksum.keyedDigest(id.text, seed: scope.seed)
    }
}
