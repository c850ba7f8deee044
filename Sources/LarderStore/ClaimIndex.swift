import LarderModel
import Synchronization

/// Which ids are claimed, in memory: what readers ask before they look, and the writer at each put.
///
/// Guarded by its lock, changed by the writer's thread alone. An id is in it from before the commit
/// that makes its row in `state.db` until after the one that takes it away, so whoever does not find
/// it here need not look there.
final class ClaimIndex: Sendable {
    /// What is said of a claimed id.
    struct Place: Equatable {
        /// By the hash under which a row of the cache would stand.
        let row: RowKey
        var isPinned = false
        /// How many unsettled changes target it, or are about to.
        var targets = 0
        /// Whether it was taken from the shared row under its id.
        var isCopy = false
        /// Whether `cache.db` may say something older of it, or nothing.
        var isBehind = false
        /// What its bytes take in `cache.db`.
        var shownBytes: Int64 = 0

        /// Whether what `state.db` has of it counts before what `cache.db` has: then changes may show
        /// there, and both are read in one transaction.
        var isReadFromState: Bool { targets > 0 || isCopy || isBehind }
    }

    private struct Keys {
        var places: [ClaimKey: Place] = [:]
        var counts: [RowKey: Int] = [:]
        var shownBytes: Int64 = 0
        var behind = 0
        /// The scopes that have a copy of a shared row, by the key of that.
        var followers: [ClaimKey: [ScopeKey]] = [:]

        mutating func unfollow(_ original: ClaimKey, _ scope: ScopeKey) {
            followers[original]?.removeAll { $0 == scope }
            if followers[original]?.isEmpty == true { followers[original] = nil }
        }
    }

    private let keys = Mutex(Keys())
    private let sharedScope: ScopeKey
    // Released after a change of the keys, acquired before a look at them, so that readers need no
    // lock while nothing is kept.
    private let count = Atomic<Int>(0)
    // Released when a row has left `state.db`, or is read from the cache again; acquired by a read
    // before and after its looks.
    private let departed = Atomic<Int>(0)
    private let publishedPins: Mutex<PinTotals>
    private let publishedQueue = Mutex(QueueTotals(maxModifiers: 0, maxBytes: 0))
    /// Uploads given up, until the writer's next transaction.
    private let abandoned = Mutex<[UploadID]>([])
    private let listener = Mutex<@Sendable () -> Void>({})

    init(pinsMaxBytes: Int64, sharedScope: ScopeKey) {
        publishedPins = Mutex(PinTotals(maxBytes: pinsMaxBytes))
        self.sharedScope = sharedScope
    }

    var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

    /// What is said of an id; nil when it is not claimed.
    func place(_ scope: ScopeKey, _ id: EntryID) -> Place? {
        guard count.load(ordering: .acquiring) > 0 else { return nil }
        let key = ClaimKey(scope, id)
        return keys.withLock { $0.places[key] }
    }

    /// Whether an id is claimed.
    func covers(_ scope: ScopeKey, _ id: EntryID) -> Bool {
        place(scope, id) != nil
    }

    /// Whether an answer for an id concerns this file: its row is here, or a copy of it.
    func concerns(_ scope: ScopeKey, _ id: EntryID) -> Bool {
        guard count.load(ordering: .acquiring) > 0 else { return false }
        let key = ClaimKey(scope, id)
        return keys.withLock { $0.places[key] != nil || $0.followers[key] != nil }
    }

    /// Whether a row of the cache may be one of a claimed id.
    func covers(_ key: RowKey) -> Bool {
        guard count.load(ordering: .acquiring) > 0 else { return false }
        return keys.withLock { $0.counts[key.first] != nil }
    }

    // MARK: Changes

    func insert(_ scope: ScopeKey, _ id: EntryID) {
        let (key, row) = (ClaimKey(scope, id), RowKey(scope, id))
        keys.withLock { keys in
            guard keys.places[key] == nil else { return }
            keys.places[key] = Place(row: row)
            keys.counts[row, default: 0] += 1
            count.store(keys.places.count, ordering: .releasing)
        }
    }

    func remove(_ scope: ScopeKey, _ id: EntryID) {
        let key = ClaimKey(scope, id)
        let original = ClaimKey(sharedScope, id)
        keys.withLock { keys in
            guard let place = keys.places.removeValue(forKey: key) else { return }
            let row = place.row
            keys.shownBytes -= place.shownBytes
            if place.isBehind { keys.behind -= 1 }
            let left = keys.counts[row, default: 1] - 1
            keys.counts[row] = left == 0 ? nil : left
            keys.unfollow(original, scope)
            count.store(keys.places.count, ordering: .releasing)
            departed.add(1, ordering: .releasing)
        }
    }

    func setPinned(_ scope: ScopeKey, _ id: EntryID, _ isPinned: Bool) {
        let key = ClaimKey(scope, id)
        keys.withLock { $0.places[key]?.isPinned = isPinned }
    }

    func addTargets(_ scope: ScopeKey, _ id: EntryID, _ count: Int) {
        let key = ClaimKey(scope, id)
        keys.withLock { keys in
            keys.places[key]?.targets += count
            if keys.places[key]?.isReadFromState == false { departed.add(1, ordering: .releasing) }
        }
    }

    /// Moves when a row has left `state.db`, or is read from the cache again: a read of several things
    /// may have met what it was before.
    var departures: Int { departed.load(ordering: .acquiring) }

    // MARK: What the cache says of it

    /// Says whether `cache.db` may say something older of an id.
    func setBehind(_ scope: ScopeKey, _ id: EntryID, _ isBehind: Bool) {
        let key = ClaimKey(scope, id)
        keys.withLock { keys in
            guard let place = keys.places[key], place.isBehind != isBehind else { return }
            keys.places[key]?.isBehind = isBehind
            keys.behind += isBehind ? 1 : -1
            if keys.places[key]?.isReadFromState == false { departed.add(1, ordering: .releasing) }
        }
    }

    /// The cache is another one, of which nobody knows what it says.
    func setAllBehind() {
        keys.withLock { keys in
            for key in keys.places.keys {
                keys.places[key]?.isBehind = true
                keys.places[key]?.shownBytes = 0
            }
            keys.behind = keys.places.count
            keys.shownBytes = 0
        }
    }

    /// Whether there are such at all.
    var hasBehind: Bool {
        guard count.load(ordering: .acquiring) > 0 else { return false }
        return keys.withLock { $0.behind > 0 }
    }

    /// Says what an id's bytes take in `cache.db`.
    func setShown(_ scope: ScopeKey, _ id: EntryID, _ bytes: Int64) {
        let key = ClaimKey(scope, id)
        keys.withLock { keys in
            guard let place = keys.places[key] else { return }
            keys.shownBytes += bytes - place.shownBytes
            keys.places[key]?.shownBytes = bytes
        }
    }

    /// What the bytes of the others take there.
    func shownBytes(without scope: ScopeKey, _ id: EntryID) -> Int64 {
        let key = ClaimKey(scope, id)
        return keys.withLock { $0.shownBytes - ($0.places[key]?.shownBytes ?? 0) }
    }

    // MARK: Copies of shared rows

    /// From now on what comes for the shared row under an id goes into a scope's copy too.
    func follow(_ scope: ScopeKey, _ id: EntryID) {
        let original = ClaimKey(sharedScope, id)
        keys.withLock { keys in
            guard keys.followers[original]?.contains(scope) != true else { return }
            keys.followers[original, default: []].append(scope)
            keys.places[ClaimKey(scope, id)]?.isCopy = true
        }
    }

    func unfollow(_ scope: ScopeKey, _ id: EntryID) {
        let original = ClaimKey(sharedScope, id)
        keys.withLock { keys in
            keys.unfollow(original, scope)
            keys.places[ClaimKey(scope, id)]?.isCopy = false
        }
    }

    /// The scopes that have a copy of a row.
    func followers(_ scope: ScopeKey, _ id: EntryID) -> [ScopeKey] {
        guard scope == sharedScope, count.load(ordering: .acquiring) > 0 else { return [] }
        let original = ClaimKey(scope, id)
        return keys.withLock { $0.followers[original] ?? [] }
    }

    /// Whether a scope's row is a copy of the shared one.
    func isCopy(_ scope: ScopeKey, _ id: EntryID) -> Bool {
        guard count.load(ordering: .acquiring) > 0 else { return false }
        let original = ClaimKey(sharedScope, id)
        return keys.withLock { $0.followers[original]?.contains(scope) ?? false }
    }

    // MARK: The writer's totals

    func publish(_ totals: PinTotals) {
        publishedPins.withLock { $0 = totals }
    }

    var pinTotals: PinTotals { publishedPins.withLock { $0 } }

    func publish(_ totals: QueueTotals) {
        publishedQueue.withLock { $0 = totals }
    }

    var queueTotals: QueueTotals { publishedQueue.withLock { $0 } }

    // MARK: Uploads

    func abandon(_ upload: UploadID) {
        abandoned.withLock { $0.append(upload) }
    }

    func takeAbandoned() -> [UploadID] {
        abandoned.withLock { abandoned in
            defer { abandoned.removeAll() }
            return abandoned
        }
    }

    // MARK: Whoever fetches what pins want

    /// Has `tell` called whenever a pin has got what it wanted, or has come to want it by itself.
    func whenNews(_ tell: @escaping @Sendable () -> Void) {
        listener.withLock { $0 = tell }
    }

    func tellNews() {
        listener.withLock { $0 }()
    }
}
