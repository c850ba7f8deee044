import LarderModel

@testable import LarderStore

/// What the store should hold, told without a database: rows, keys, uses and sums.
///
/// * The sum of all rows and of the upload under way never exceeds the budget after a step.
/// * Rows go in the order of their last durable use, blobs past their `ttl` first.
/// * While two uids or more have rows, one that has more than its share loses its own rows first.
/// * Eviction passes rows that must stay, and looks at them again from the front of the order after
///   one eviction for 16 of them.
/// * A use is durable once it was flushed; a crash forgets those that were not.
/// * A step that fails changes nothing.
struct StoreModel {
    /// Equal when their bytes are: a String's own equality takes é for e and an accent.
    struct ID: Hashable, CustomStringConvertible {
        let scope: Scope
        private let bytes: [UInt8]

        init(_ scope: Scope, _ text: String) {
            self.scope = scope
            bytes = Array(text.utf8)
        }

        var text: String { String(decoding: bytes, as: UTF8.self) }
        var description: String { "\(scope.text) \(text)" }
    }

    struct Row: Equatable {
        var entry: Entry
        var isChunked: Bool
        var size: Int64
        /// The order of uses: durable, and still in memory.
        var lastUsed: Int
        var pendingUse: Int?
        var key: RowKey
    }

    /// An order in which rows go: those past their `ttl`, or those of a uid or of all by their use.
    enum Order: Hashable {
        case expired
        case used(UInt32?)
    }

    /// How far eviction has come in an order.
    private struct Walk {
        /// The place of the last row.
        var last: (Int64, Int64) = (.min, .min)
        var passed: Int64 = 0
        /// How many had gone when it began at the front.
        var evictions: Int64 = 0
    }

    enum Failure: Error, Equatable {
        case tooLarge
        case noRoom
        case keyTaken
    }

    let maxEntryBytes: Int64
    let budget: Int64
    let lowWatermark: Int64
    /// Of one uid, while another has rows as well.
    let share: Int64
    private(set) var rows: [ID: Row] = [:]
    private(set) var evictions: Int64 = 0
    private(set) var uploadSize: Int64 = 0
    private(set) var highestRevision = Revision(0)
    private var protected: [RowKey: Int] = [:]
    private var isShrinking = false
    private var uses = 0
    private var walks: [Order: Walk] = [:]

    init(maxBytes: Int64, maxEntryBytes: Int64, lowWatermark: Double, userShare: Double) {
        budget = maxBytes
        self.maxEntryBytes = maxEntryBytes
        self.lowWatermark = Int64(Double(maxBytes) * lowWatermark)
        share = Int64(Double(maxBytes) * userShare)
    }

    var bytes: Int64 { rows.values.reduce(uploadSize) { $0 + $1.size } }

    /// What the rows of each uid count.
    var owners: [UInt32: Int64] {
        rows.reduce(into: [:]) { sums, row in
            if let uid = row.key.scope.uid { sums[uid, default: 0] += row.value.size }
        }
    }

    /// The rows of a scope, the least recently used first, as a flush would leave them written.
    func byUse(in scope: Scope) -> [(id: ID, row: Row)] {
        rows.filter { $0.key.scope == scope }.sorted { $0.value.lastUsed < $1.value.lastUsed }
            .map { ($0.key, $0.value) }
    }

    func isProtected(_ key: RowKey) -> Bool { protected[key] != nil }

    // MARK: Steps

    /// Whether a put of `entry` is to succeed, and how; the revision is checked by ``accept``.
    mutating func put(
        _ id: ID,
        _ entry: Entry,
        key: RowKey,
        isChunked: Bool,
        now: Timestamp
    ) throws(Failure) {
        guard rows.allSatisfy({ $0.key == id || $0.value.key != key }) else { throw .keyTaken }
        let size = entry.documentedSize(scope: id.scope.text, isChunked: isChunked)
        guard entry.body.byteCount <= maxEntryBytes, size <= budget else { throw .tooLarge }
        if isChunked { uploadSize = 0 }
        // A use that is not flushed yet is older than this put, and stays without effect.
        rows[id] = Row(
            entry: entry,
            isChunked: isChunked,
            size: size,
            lastUsed: tick(),
            pendingUse: nil,
            key: key
        )
        try makeRoom(keeping: key, now: now)
    }

    /// Takes the answer of a put that the model had succeed.
    mutating func accept(_ receipt: PutReceipt, of id: ID, over old: Row?) throws {
        guard var row = rows[id] else { throw Violation("\(id) was put and is not there") }
        let isSame = old.map { Self.sameBytes($0.entry, row.entry) } ?? false
        try require(receipt.isNew == (old == nil), "\(id): isNew \(receipt.isNew)")
        try require(receipt.isSame == isSame, "\(id): isSame \(receipt.isSame)")
        if isSame {
            try require(receipt.revision == old?.entry.revision, "\(id): another revision")
        } else {
            try require(receipt.revision > highestRevision, "\(id): \(receipt.revision) again")
            highestRevision = receipt.revision
        }
        row.entry.revision = receipt.revision
        rows[id] = row
    }

    /// One chunk of the upload under way.
    mutating func append(_ count: Int, now: Timestamp) throws(Failure) {
        let added = Int64(count + 64)
        guard uploadSize + added <= budget else { throw .tooLarge }
        uploadSize += added
        try makeRoom(keeping: nil, now: now)
    }

    mutating func abandon() { uploadSize = 0 }

    mutating func refresh(_ id: ID, _ entry: Entry, now: Timestamp) throws(Failure) {
        guard var row = rows[id] else { return }
        row.entry = entry
        row.size = entry.documentedSize(scope: id.scope.text, isChunked: row.isChunked)
        row.lastUsed = tick()
        row.pendingUse = nil
        rows[id] = row
        try makeRoom(keeping: row.key, now: now)
    }

    mutating func delete(_ id: ID) -> EntryKind? {
        rows.removeValue(forKey: id)?.entry.kind
    }

    /// Removes named rows but the protected ones; how many were removed.
    mutating func evict(_ ids: [ID]) -> Int {
        let free = rows.filter { !isProtected($0.value.key) }
        let victims = ids.filter { free[$0] != nil }
        for id in victims { rows[id] = nil }
        evictions += Int64(victims.count)
        return victims.count
    }

    mutating func use(_ id: ID) {
        let use = tick()
        rows[id]?.pendingUse = use
    }

    /// The use of whatever row is under a key, if one is.
    mutating func use(_ key: RowKey) {
        if let id = rows.first(where: { $0.value.key == key })?.key { use(id) }
    }

    /// What a step does that fails for want of room.
    mutating func lookFromFront() { walks = [:] }

    mutating func protect(_ key: RowKey) { protected[key, default: 0] += 1 }

    mutating func release(_ key: RowKey) {
        guard let count = protected[key] else { return }
        protected[key] = count == 1 ? nil : count - 1
    }

    mutating func flush() {
        rows = rows.mapValues { row in
            var row = row
            row.lastUsed = max(row.lastUsed, row.pendingUse ?? 0)
            row.pendingUse = nil
            return row
        }
    }

    /// What the writer does on its own: down to the low watermark, once that was begun.
    mutating func settle(now: Timestamp) {
        guard isShrinking else { return }
        flush()
        evict(downTo: lowWatermark, keeping: nil, now: now)
        isShrinking = false
    }

    /// The file is gone; what is in memory stays.
    mutating func loseFile() {
        rows = [:]
        uploadSize = 0
        isShrinking = false
        walks = [:]
    }

    mutating func forgetMemory() {
        rows = rows.mapValues { row in
            var row = row
            row.pendingUse = nil
            return row
        }
        protected = [:]
        uploadSize = 0
        walks = [:]
        evictions = 0
        isShrinking = false
    }

    // MARK: Parts of steps

    private mutating func makeRoom(keeping kept: RowKey?, now: Timestamp) throws(Failure) {
        guard bytes > budget else { return }
        flush()
        evict(downTo: budget, keeping: kept, now: now)
        if bytes > budget {
            walks = [:]
            evict(downTo: budget, keeping: kept, now: now)
        }
        guard bytes <= budget else { throw .noRoom }
        isShrinking = bytes > lowWatermark
    }

    private mutating func evict(downTo goal: Int64, keeping kept: RowKey?, now: Timestamp) {
        var done: Set<Order> = []
        while bytes > goal, let order = nextOrder(except: done) {
            if let id = nextVictim(order, keeping: kept, now: now) {
                rows[id] = nil
                evictions += 1
            } else {
                done.insert(order)
            }
        }
    }

    private func nextOrder(except done: Set<Order>) -> Order? {
        let sums = owners.count > 1 ? owners : [:]
        // The largest first.
        let above = sums.filter { $0.value > share }
            .sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        let orders = [.expired] + above.map { Order.used($0.key) } + [.used(nil)]
        return orders.first { !done.contains($0) }
    }

    private mutating func nextVictim(_ order: Order, keeping kept: RowKey?, now: Timestamp) -> ID? {
        var walk = walks[order] ?? Walk()
        defer { walks[order] = walk }
        if (evictions - walk.evictions) * 16 >= walk.passed { walk = Walk(evictions: evictions) }
        let left = rows.compactMap { id, row in
            Self.place(of: row, id.scope.uid, order, now: now).map {
                (id: id, key: row.key, place: $0)
            }
        }
        for row in left.sorted(by: { $0.place < $1.place }) where row.place > walk.last {
            walk.last = row.place
            if row.key != kept, !isProtected(row.key) { return row.id }
            walk.passed += 1
        }
        return nil
    }

    /// The numbers by which a row is ordered; nil where the row is not in the order.
    private static func place(
        of row: Row,
        _ uid: UInt32?,
        _ order: Order,
        now: Timestamp
    ) -> (Int64, Int64)? {
        switch order {
        case .expired:
            guard row.entry.isExpired(at: now), let end = row.entry.freshUntil else { return nil }
            return (end.milliseconds, row.key.number)
        case .used(let owner):
            return owner == nil || owner == uid ? (Int64(row.lastUsed), 0) : nil
        }
    }

    private mutating func tick() -> Int {
        uses += 1
        return uses
    }

    private static func sameBytes(_ one: Entry, _ other: Entry) -> Bool {
        one.kind == other.kind && one.body.byteCount == other.body.byteCount
            && one.body.digest == other.body.digest
    }
}
