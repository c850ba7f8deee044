import LarderModel
import LarderNormalize
import Synchronization

final class SharedCacheState: Sendable {
    let configuration: StoreConfiguration
    let cacheFile: DatabaseFile
    let reserves: (cache: Reserve, state: Reserve)
    let now: @Sendable () -> Timestamp
    /// Seed of the hash of row keys, in every file that the process makes.
    let keySeed: UInt64
    let clock = LogicalClock()
    /// Which rows may not be evicted now; asked by the writer while it chooses.
    let protection = HoldCounts<RowKey>()
    let leases = BodyLeases()
    let stateLeases = BodyLeases()
    let watches = RowWatches()
    let stamps = RowVersions()
    let changes = ChangeFeed()
    let residency = ResidencyIndex()
    let aliases = AliasIndex()
    let sharedScope: ScopeKey
    // Released before the commit that hides a row, acquired by a reader whose transaction may have
    // that commit. It never goes back.
    private let hasHiddenRows = Atomic<Bool>(false)
    private let knownOrigins = Mutex(OriginNames(rules: [:]))
    // Released after the known origins have changed, acquired before they are used.
    private let originChanges = Atomic<Int>(0)
    let maintenanceTrigger = MaintenanceTrigger()
    let findings = Findings()
    private let logs = Mutex<[TouchLog]>([])
    private let published = Mutex<StoreTotals>(StoreTotals())
    private let abandoned = Mutex<[UploadID]>([])
    private let directUses = Mutex<Set<RowKey>>([])
    private let damagedRows = Atomic<Int64>(0)
    // Released after a commit and acquired before a read: a reader that sees the number begins a
    // transaction that sees the commit.
    private let commits = Atomic<Int64>(0)
    // Released when the file was lost or created, before ``commits`` moves. A reader that begins a
    // transaction acquires it.
    private let generations = Atomic<Int64>(Generation.none.number)
    private let whyAbsent = Mutex(StoreError.noFile(reason: "it was not opened yet"))
    // Relaxed: it only keeps the same trouble from being reported again and again.
    private let reported = Atomic<Int64>(Generation.none.number)
    // Relaxed: it only keeps the totals of a file from being summed up twice.
    private let checked = Atomic<Int64>(Generation.none.number)
    // Relaxed: written by the writer's thread only.
    private let bodies = Atomic<Int64>(0)

    init(
        _ configuration: StoreConfiguration,
        _ reserves: (cache: Reserve, state: Reserve),
        keySeed: UInt64,
        now: @escaping @Sendable () -> Timestamp
    ) {
        (self.configuration, self.reserves) = (configuration, reserves)
        (self.keySeed, self.now) = (keySeed, now)
        cacheFile = DatabaseFile.ofCache(configuration)
        sharedScope = ScopeKey(.shared, seed: keySeed, hashMask: configuration.hashMask)
    }

    var rebuiltBytesMax: Int {
        let entryBytesMax = configuration.limits.maxEntryBytes.bytes
        return Int(min(entryBytesMax, Int64(Limits.normalizedBodyBytesMax)))
    }

    func key(for scope: Scope) -> ScopeKey {
        ScopeKey(scope, seed: keySeed, hashMask: configuration.hashMask)
    }

    func sharedName(_ id: EntryID) -> TargetName { TargetName(sharedScope, id) }

    /// Whether a row may not be evicted now: it is in use, or its id is durable.
    func isProtected(_ key: RowKey) -> Bool { protection.isHeld(key) || residency.covers(key) }
    var protectsAny: Bool { !protection.isEmpty || !residency.isEmpty }
    var mayHideRows: Bool { hasHiddenRows.load(ordering: .acquiring) }
    func noteHiddenRow() { hasHiddenRows.store(true, ordering: .releasing) }

    func add(_ log: TouchLog) { logs.withLock { $0.append(log) } }
    var touchLogs: [TouchLog] { logs.withLock { $0 } }

    func publish(_ totals: StoreTotals) {
        published.withLock { $0 = totals }
        commits.add(1, ordering: .releasing)
    }

    var commitNumber: Int64 { commits.load(ordering: .acquiring) }
    var generation: Generation { Generation(number: generations.load(ordering: .acquiring)) }

    var absence: StoreError {
        get { whyAbsent.withLock { $0 } }
        set { whyAbsent.withLock { $0 = newValue } }
    }

    func fileOpened(_ totals: StoreTotals) {
        generations.add(1, ordering: .releasing)
        publish(totals)
    }

    /// The file is not to be used any more: from now on every read is a miss.
    func fileLost(_ totals: StoreTotals) {
        // The start moves first: a reader that finds no log in the cache then knows that changes
        // are missing.
        changes.setStart(.cache, changes.last)
        generations.add(1, ordering: .releasing)
        publish(totals)
        watches.allChanged()
        changes.cut()
    }

    func isFirstTrouble(of generation: Generation) -> Bool {
        reported.exchange(generation.number, ordering: .relaxed) != generation.number
    }

    /// Whether the writer has yet to check the totals of this file against its rows; true only
    /// once.
    func wantsTotalsChecked() -> Bool {
        let number = generation.number
        return checked.exchange(number, ordering: .relaxed) != number
    }

    /// The highest number of a body in any file.
    ///
    /// A later file goes on after it, so an old number never leads to other bytes.
    var highestBody: Int64 { bodies.load(ordering: .relaxed) }
    func noteBody(_ number: Int64) { bodies.max(number, ordering: .relaxed) }

    var totals: StoreTotals {
        var totals = published.withLock { $0 }
        totals.damaged = damagedRows.load(ordering: .relaxed)
        return totals
    }

    func noteDirectUses(_ keys: Set<RowKey>) {
        guard !keys.isEmpty else { return }
        directUses.withLock { uses in if uses.count < Limits.touchesMax { uses.formUnion(keys) } }
    }

    func takeDirectUses() -> Set<RowKey> { directUses.withLock { exchange(&$0, with: []) } }

    var origins: OriginNames {
        get { knownOrigins.withLock { $0 } }
        set {
            knownOrigins.withLock { $0 = newValue }
            noteOriginChange()
        }
    }

    func noteOriginChange() { originChanges.add(1, ordering: .releasing) }
    var originsVersion: Int { originChanges.load(ordering: .acquiring) }
    func abandon(_ upload: UploadID) { abandoned.withLock { $0.append(upload) } }
    func takeAbandoned() -> [UploadID] { abandoned.withLock { exchange(&$0, with: []) } }
    func countDamagedRow() { damagedRows.add(1, ordering: .relaxed) }

    /// A change of an entity as a change of the entity's own URL.
    ///
    /// Nil if no modifier has a part in the change, or if the URL has a row, which is shown
    /// instead.
    func byOwnURL(
        _ change: Change,
        isShown: (ScopeKey, EntryID) throws(StoreError) -> Bool
    ) throws(StoreError) -> Change? {
        guard let (name, cause) = change.changedEntity, let id = origins.ownID(name) else {
            return nil
        }
        let scope = key(for: change.scope)
        let targets = residency.place(scope, EntryID(name))?.targets ?? 0
        guard cause.source == .modifier || targets > 0 else { return nil }
        for place in places(of: scope) {
            guard try !isShown(place, id) else { return nil }
        }
        let isPut = if case .put = change.event { true } else { false }
        let event = isPut ? Change.Event.put(id, cause) : .delete(id, cause)
        var told = Change(change.revision, change.scope, event)
        told.name(changed: [name.key])
        return told
    }

    func places(of scope: ScopeKey) -> [ScopeKey] {
        scope.scope == .shared ? [scope] : [scope, key(for: .shared)]
    }

    /// Rebuilds answers from the origins' last words, on a thread that no request waits for.
    func rebuilder(of row: NormalizedRow) -> Rebuilder {
        Rebuilder(origins.rules(of: row.entry.origin), bytesMax: rebuiltBytesMax)
    }
}

/// Which `cache.db` it is since the start: it moves when the file is lost, and when there is a new
/// one.
struct Generation: Hashable, Sendable {
    /// Even while there is a file, odd while there is none.
    let number: Int64

    static let none = Generation(number: 1)

    var hasFile: Bool { number.isMultiple(of: 2) }
}

final class HoldCounts<Key: Hashable & Sendable>: Sendable {
    private let counts = Mutex<[Key: Int]>([:])

    var isEmpty: Bool { counts.withLock { $0.isEmpty } }

    func count(_ key: Key) -> Int { counts.withLock { $0[key] ?? 0 } }

    func isHeld(_ key: Key) -> Bool { counts.withLock { $0[key] != nil } }

    func take(_ key: Key) { counts.withLock { $0[key, default: 0] += 1 } }

    @discardableResult func release(_ key: Key) -> Bool {
        counts.withLock { counts in
            guard let count = counts[key] else { return false }
            counts[key] = count == 1 ? nil : count - 1
            return count == 1
        }
    }
}

/// Which chunked bodies are being read: a replaced body keeps its chunks until then.
///
/// A reader takes the lease first and looks at the row after that. The writer commits first that no
/// row names the body, and looks at the leases after that. So one of them sees the other.
typealias BodyLeases = HoldCounts<Int64>

/// Tells its listener, once a round, that the store needs maintenance.
///
/// So a daemon that no client uses does no periodic work.
package final class MaintenanceTrigger: Sendable {
    // Relaxed: a round that begins late by what it has not seen yet is followed by another.
    private let isWanted = Atomic(true)
    private let listener = Mutex<(@Sendable () -> Void)?>(nil)

    /// Something was used or written, which a round has something to do with.
    package func want() {
        guard !isWanted.load(ordering: .relaxed),
            !isWanted.exchange(true, ordering: .relaxed)
        else { return }
        listener.withLock { $0 }?()
    }

    func begin() { isWanted.store(false, ordering: .relaxed) }

    /// Sets `tell`, which is called for each wanted round, and immediately if one is wanted
    /// already.
    package func whenWanted(_ tell: @escaping @Sendable () -> Void) {
        listener.withLock { $0 = tell }
        if isWanted.load(ordering: .relaxed) { tell() }
    }
}
