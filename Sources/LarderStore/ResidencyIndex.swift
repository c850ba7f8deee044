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

    init(pinsMaxBytes: Int64) { publishedPins = Mutex(PinTotals(maxBytes: pinsMaxBytes)) }

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

    func insert(_ name: TargetName) {
        let (key, row) = (ResidencyKey(name.scope, name.id), RowKey(name.scope, name.id))
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

    /// Takes an id out whose row is gone.
    func removeGivenUp(_ name: TargetName) {
        if place(name.scope, name.id)?.isGivenUp == true { remove(name) }
    }

    /// Takes an id out that has no row.
    func remove(_ name: TargetName) {
        let key = ResidencyKey(name.scope, name.id)
        keys.withLock { keys in
            guard let place = keys.places.removeValue(forKey: key) else { return }
            let row = place.row
            let left = keys.counts[row, default: 1] - 1
            keys.counts[row] = left == 0 ? nil : left
            count.store(keys.places.count, ordering: .releasing)
            removed.add(1, ordering: .releasing)
        }
    }

    /// Changes what is known of an id, if that is durable; returns how it was.
    @discardableResult
    func change(_ name: TargetName, _ make: (inout Place) -> Void) -> Place? {
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
