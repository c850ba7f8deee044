import Glibc
import LarderModel
import LarderTestSupport

@testable import LarderStore

/// Random steps on a real store and on its model, judged in both directions after each of them.
final class StoreSimulation {
    /// Few ids, so that they meet again; the same ones in every scope.
    private static let names = [
        "a", "b", "https://host/1", "https://host/2", "https://host/2/%_", "caf\u{e9}",
        "cafe\u{301}", "\u{1F4A1}", "zz", "n0", "n1", "n2",
    ]

    private let temporary: TemporaryStore
    private let clock: HandClock
    private var random: SeededRandom
    private var model: StoreModel
    private var bodies: [StoreModel.ID: [UInt8]] = [:]
    private var readers: [StoreReader] = []
    private var scopes: [Scope: ScopeKey] = [:]
    private var protected: [StoreModel.ID] = []
    private var kept = KeptReads<StoreModel.ID, Shown>()
    private var log: [String] = []

    /// What a read shows: a row with its bytes, where it has any of its own.
    struct Shown: Equatable {
        var entry: Entry?
        var bytes: [UInt8]?

        static let miss = Shown()

        private init() {}

        init(_ row: borrowing EntryRow) {
            entry = row.entry()
            bytes = row.chunkedBody == nil ? row.withBody { Array($0) } : nil
        }
    }

    /// `hashMask` as in ``StoreConfiguration/hashMask``.
    init(seed: UInt64, hashMask: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let clock = HandClock()
        let maxBytes: Int64 = [6_000, 40_000, 300_000, 1_000_000][Int(random.next() % 4)]
        let maxEntryBytes: Int64 = random.next() % 2 == 0 ? 1 << 20 : 30_000
        let lowWatermark = [0.5, 0.9, 1][Int(random.next() % 3)]
        let userShare = [0.2, 0.5, 1][Int(random.next() % 3)]
        temporary = try TemporaryStore(
            now: { clock.now },
            configure: { configuration in
                configuration.maxBytes = ByteSize(bytes: maxBytes)
                configuration.maxEntryBytes = ByteSize(bytes: maxEntryBytes)
                configuration.lowWatermark = lowWatermark
                configuration.queue.userShare = userShare
                configuration.hashMask = hashMask
            }
        )
        model = StoreModel(
            maxBytes: maxBytes,
            maxEntryBytes: maxEntryBytes,
            lowWatermark: lowWatermark,
            userShare: userShare
        )
        self.clock = clock
        self.random = random
        try connect()
    }

    func run(steps: Int) async throws -> KeptCounts {
        do {
            for step in 1...steps {
                try await self.step()
                try await judge()
                try judgeKept()
                if step % 16 == 0 { try await judgeFile() }
            }
            try await flush()
            try await judge()
            try await reopen()
            try await judgeFile()
        } catch {
            throw FailedRun(error, after: log)
        }
        return kept.counts
    }

    // MARK: Steps

    private func step() async throws {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<32: try await put()
        case 32..<37: try await upload()
        case 37..<62: try get()
        case 62..<70: try await refresh()
        case 70..<76: try await delete()
        case 76..<82: try await evict()
        case 82..<88: protectOrRelease()
        case 88..<92: try await flush()
        case 92..<95: clock.advance(by: .milliseconds(random.next() % 400))
        case 95: endTransactions()
        case 96: try await loseFile()
        case 97..<99: try await crash()
        default: try await reopen()
        }
    }

    private func put() async throws {
        let id = anyID()
        let count = [0, 3, 500, 4_000, 20_000].randomElement(using: &random) ?? 0
        var (entry, bytes) = try newEntry(id, maxBytes: count)
        if let old = model.rows[id]?.entry, Int.random(in: 0..<4, using: &random) == 0 {
            // The same bytes once more.
            guard let same = bodies[id], same.count <= Limits.inlineBodyBytesMax else { return }
            entry.kind = old.kind
            entry.body = old.body
            bytes = same
        }
        log.append("put \(id) \(entry.kind) \(bytes.count)")
        try await put(id, entry, .inline(bytes), bytes)
    }

    private func put(
        _ id: StoreModel.ID,
        _ entry: Entry,
        _ body: NewBody,
        _ bytes: [UInt8]
    ) async throws {
        let scope = try key(id.scope)
        let old = model.rows[id]
        let expected = attempt { model throws(StoreModel.Failure) in
            try model.put(
                id,
                entry,
                key: RowKey(scope, entry.id),
                isChunked: body.isUploaded,
                now: self.clock.now
            )
        }
        let actual = await outcome { [temporary, clock] () throws(StoreError) in
            let new = NewEntry(scope: scope, entry: entry, body: body)
            return try await temporary.store.put(new, now: clock.now)
        }
        try agree(expected, actual)
        guard case .success(let receipt) = actual else {
            if case .uploaded(let upload) = body { try await abandon(upload) }
            return
        }
        bodies[id] = bytes
        try model.accept(receipt, of: id, over: old)
        try await settle()
    }

    private func upload() async throws {
        let id = anyID()
        let (entry, bytes) = try newEntry(id, maxBytes: 150_000)
        log.append("upload \(id) \(bytes.count)")
        let upload = try await temporary.store.bodies.begin()
        for chunk in bytes.chunks {
            let expected = attempt { model throws(StoreModel.Failure) in
                try model.append(chunk.count, now: self.clock.now)
            }
            let actual = await outcome { [temporary, clock] () throws(StoreError) in
                try await temporary.store.bodies.append(chunk, to: upload, now: clock.now)
            }
            try agree(expected, actual)
            guard case .success = actual else { return try await abandon(upload) }
            try await settle()
        }
        switch Int.random(in: 0..<10, using: &random) {
        case 0: try await abandon(upload)
        case 1: try await crash()
        case 2: try await reopen()
        default: try await put(id, entry, .uploaded(upload), bytes)
        }
    }

    private func abandon(_ upload: UploadID) async throws {
        temporary.store.bodies.abandon(upload)
        model.abandon()
        try await settle()
    }

    private func get() throws {
        let id = anyID()
        let reader = readers[Int.random(in: 0..<readers.count, using: &random)]
        log.append("get \(id)")
        let found = try reader.entry(
            try key(id.scope),
            EntryID(id.text),
            now: clock.now,
            isUse: true
        )
        let row = model.rows[id].flatMap { $0.entry.isExpired(at: clock.now) ? nil : $0 }
        try require(found == row?.entry, "get \(id) gave \(String(describing: found))")
        if row != nil { model.use(id) }
        if Bool.random(using: &random) { reader.endTransaction() }
    }

    private func refresh() async throws {
        let id = anyID()
        guard var entry = model.rows[id]?.entry else { return }
        log.append("refresh \(id)")
        entry.storedAt = clock.now
        entry.freshUntil = clock.now.advanced(by: .seconds(1))
        entry.headers.set("X-Confirmed", String(repeating: "x", count: anyCount(3_000)))
        entry.mediaType = anyMediaType()
        var isCurrent = entry.kind == .fetched
        if Int.random(in: 0..<5, using: &random) == 0 {
            entry.etag = "\"another\""
            isCurrent = false
        }
        let scope = try key(id.scope)
        let confirmed = entry
        let expected = attempt { model throws(StoreModel.Failure) in
            if isCurrent { try model.refresh(id, confirmed, now: confirmed.storedAt) }
        }
        let actual = await outcome { [temporary] () throws(StoreError) in
            try await temporary.store.refresh(confirmed, in: scope)
        }
        try agree(expected, actual)
        guard case .success(let answer) = actual else { return }
        let wanted = isCurrent ? RefreshOutcome.refreshed(confirmed) : .gone
        try require(answer == wanted, "refresh \(id): \(answer)")
        try await settle()
    }

    private func delete() async throws {
        let id = anyID()
        log.append("delete \(id)")
        let kind = try await temporary.store.delete(try key(id.scope), EntryID(id.text))?.kind
        let expected = model.delete(id)
        try require(kind == expected, "delete \(id)")
    }

    private func evict() async throws {
        let scope = Scope.several[anyCount(Scope.several.count)]
        var filter = RowFilter(scope: try key(scope))
        if Bool.random(using: &random) {
            filter.prefix = ["https://host/2", "caf", "n"].randomElement(using: &random)
        }
        if Bool.random(using: &random) { filter.origin = try OriginName("host") }
        if Bool.random(using: &random) {
            filter.storedBefore = Timestamp(
                milliseconds: clock.now.milliseconds - Int64(anyCount(300))
            )
        }
        let limit = 1 + anyCount(4)
        log.append("evict \(filter) \(limit)")
        let chosen = try await temporary.store.candidates(filter, limit: limit)
        let expected = model.byUse(in: scope).filter { filter.matches($0.row.entry) }.prefix(limit)
        try require(
            chosen.map(\.id) == expected.map(\.row.entry.id)
                && chosen.map(\.size) == expected.map(\.row.size),
            "candidates \(chosen)"
        )
        let receipt = try await temporary.store.evict(chosen)
        let count = model.evict(expected.map(\.id))
        try require(receipt.evicted.count == count, "evicted \(receipt), not \(count)")
        try require(receipt.skipped == chosen.count - count, "skipped \(receipt.skipped)")
        try await settle()
    }

    private func protectOrRelease() {
        if protected.count > 3 || Bool.random(using: &random), let id = protected.popLast() {
            guard let scope = scopes[id.scope], let named = try? EntryID(id.text) else { return }
            log.append("release \(id)")
            temporary.store.release(scope, named)
            model.release(RowKey(scope, named))
        } else {
            let id = anyID()
            guard let scope = scopes[id.scope], let named = try? EntryID(id.text) else { return }
            log.append("protect \(id)")
            temporary.store.protect(scope, named)
            model.protect(RowKey(scope, named))
            protected.append(id)
        }
    }

    private func flush() async throws {
        log.append("flush")
        try await temporary.store.flushTouches()
        model.flush()
    }

    private func settle() async throws {
        let before = temporary.store.totals
        try require(before.bytes <= before.budget, "over budget: \(before)")
        try await temporary.store.settle()
        model.settle(now: clock.now)
    }

    private func crash() async throws {
        log.append("crash")
        try await temporary.store.settle()
        disconnect()
        try temporary.crash()
        model.forgetMemory()
        try await judgeFile()
        try connect()
    }

    /// The file is deleted, cut or overwritten under the running store.
    private func loseFile() async throws {
        let harms: [LostFileTests.Harm] = [
            .deleted, .deletedWithItsWAL, .walDeleted, .emptied, .cutWithinAPage,
            .replaced,
        ]
        let harm = harms[anyCount(harms.count)]
        log.append("lose \(harm)")
        clock.advance(by: Limits.recreationTime)
        try harm.apply(to: temporary.cachePath)
        try await temporary.store.maintain()
        model.loseFile()
    }

    private func reopen() async throws {
        log.append("reopen")
        disconnect()
        model.flush()
        try await temporary.reopen()
        model.forgetMemory()
        try connect()
        try require(
            temporary.store.files.findings.isEmpty,
            "findings: \(temporary.store.files.findings)"
        )
    }

    private func connect() throws {
        readers = [try temporary.store.makeReader(), try temporary.store.makeReader()]
        for scope in Scope.several { scopes[scope] = temporary.store.key(for: scope) }
    }

    private func disconnect() {
        readers = []
        kept.dropAll()
        protected = []
    }

    private func endTransactions() {
        for reader in readers { reader.endTransaction() }
    }
}

// MARK: Judging

extension StoreSimulation {
    /// The store against its model and the model against the store.
    private func judge() async throws {
        let totals = temporary.store.totals
        try require(totals.bytes == model.bytes, "\(totals.bytes) bytes, not \(model.bytes)")
        try require(totals.bytes <= totals.budget, "over budget: \(totals)")
        try require(totals.entries == model.rows.count, "\(totals.entries) entries")
        try require(totals.evictions == model.evictions, "\(totals.evictions) evictions")
        try require(totals.damaged == 0, "\(totals.damaged) damaged rows")
        let owners = try await temporary.store.owners()
        try require(owners == model.owners, "\(owners), not \(model.owners)")
        for scope in Scope.several {
            let filter = RowFilter(scope: try key(scope))
            let listed = try readers[0].lists.page(filter, order: .used, after: nil, limit: .max)
            let expected = model.byUse(in: scope)
            let ids = listed.map(\.entry.id.text)
            try require(
                ids == expected.map(\.id.text),
                "\(scope): \(ids), not \(expected.map(\.id.text))"
            )
            for (found, wanted) in zip(listed, expected) {
                try require(
                    found.entry == wanted.row.entry && found.size == wanted.row.size,
                    "\(wanted.id): \(found), not \(wanted.row)"
                )
            }
        }
        for (id, row) in model.rows { try judgeBytes(id, row) }
        let id = anyID()
        guard model.rows[id] == nil else { return }
        let found = try readers[1].entry(key(id.scope), EntryID(id.text), now: clock.now)
        try require(found == nil, "\(id) is there")
    }

    private func judgeBytes(_ id: StoreModel.ID, _ row: StoreModel.Row) throws {
        let isSame = try readers[1].withEntry(
            key(id.scope),
            row.entry.id,
            now: clock.now,
            isUse: false
        ) { found in
            guard found.chunkedBody == nil else { return row.isChunked }
            return found.withBody { bytes in
                guard let wanted = bodies[id], wanted.count == bytes.count else { return false }
                guard let base = bytes.baseAddress else { return true }
                return memcmp(base, wanted, wanted.count) == 0
            }
        }
        let isExpired = row.entry.isExpired(at: clock.now)
        try require(
            isSame == (isExpired ? nil : true),
            "\(id): bytes \(String(describing: isSame))"
        )
    }

    /// What was kept of reads, where it still counts; then one more is made to be kept.
    private func judgeKept() throws {
        for id in kept.keys {
            let reader = anyReader()
            let row = try RowKey(key(id.scope), EntryID(id.text))
            try kept.check(
                id,
                counts: { stamp in
                    guard reader.stillSays(stamp) else { return false }
                    model.use(row)
                    return true
                },
                read: { now in try shown(id, reader, now, isUse: false) }
            )
        }
        let (id, reader, now) = (anyID(), anyReader(), clock.now)
        log.append("keep \(id)")
        let (result, stamp) = reader.stamping {
            Result { try shown(id, reader, now, isUse: true) }
        }
        let found = try result.get()
        if found != .miss { model.use(id) }
        kept.keep(id, (found, stamp), now: now)
        kept.shrink(to: 6)
    }

    /// Reads an id as an event loop does; where that is no use of it, as all others do.
    private func shown(
        _ id: StoreModel.ID,
        _ reader: StoreReader,
        _ now: Timestamp,
        isUse: Bool
    ) throws -> Shown {
        let (scope, named) = (try key(id.scope), try EntryID(id.text))
        var plain = Shown.miss
        let isPlain =
            isUse && reader.fastPathRow(scope, named, now: now) { row in plain = Shown(row) }
        if isPlain { return plain }
        return try reader.withEntry(scope, named, now: now, isUse: isUse) { Shown($0) } ?? .miss
    }

    /// The rows themselves, and large bodies as they are read.
    private func judgeFile() async throws {
        try await temporary.store.settle()
        endTransactions()
        let audit = try FileAudit(temporary.cachePath)
        try require(audit.unlinkedBodies == 0, "\(audit.unlinkedBodies) bodies left over")
        try require(
            audit.bytes == model.bytes - model.uploadSize,
            "\(audit.bytes), not \(model.bytes)"
        )
        for (id, row) in model.rows where row.isChunked && !row.entry.isExpired(at: clock.now) {
            let scope = temporary.store.key(for: id.scope)
            let bytes = try await temporary.store.bytes(scope, row.entry.id)
            try require(bytes == bodies[id], "\(id): chunks")
        }
    }
}

// MARK: Chance and comparison

extension StoreSimulation {
    private func anyReader() -> StoreReader { readers[anyCount(readers.count)] }

    private func anyCount(_ end: Int) -> Int { Int.random(in: 0..<end, using: &random) }

    private func anyID() -> StoreModel.ID {
        StoreModel.ID(
            Scope.several[anyCount(Scope.several.count)],
            Self.names[anyCount(Self.names.count)]
        )
    }

    private func anyMediaType() -> String? {
        [nil, "text/plain", "application/json"][anyCount(3)]
    }

    private func newEntry(
        _ id: StoreModel.ID,
        maxBytes: Int
    ) throws -> (entry: Entry, bytes: [UInt8]) {
        let kind = [EntryKind.blob, .blob, .fetched, .fetched, .tombstone][anyCount(5)]
        let count = kind == .tombstone ? 0 : anyCount(maxBytes + 1)
        let bytes = [UInt8].pattern(count, UInt8(anyCount(3)))
        var entry = Entry(
            id: try EntryID(id.text),
            kind: kind,
            storedAt: clock.now,
            revision: Revision(0),
            body: BodySummary(of: bytes, isJSON: Bool.random(using: &random))
        )
        if kind != .blob {
            entry.status = kind == .tombstone ? 410 : 200
            entry.origin = try OriginName("host")
            entry.etag = "\"\(anyCount(9))\""
            entry.headers.set("Vary", "Accept")
        }
        entry.mediaType = anyMediaType()
        if Bool.random(using: &random) {
            entry.freshUntil = clock.now.advanced(by: .milliseconds(Int64(anyCount(1_000))))
        }
        return (entry, bytes)
    }

    private func key(_ scope: Scope) throws -> ScopeKey {
        guard let key = scopes[scope] else { throw Violation("no key for \(scope)") }
        return key
    }

    /// Changes the model, or leaves it as it is and says why.
    private func attempt(
        _ change: (inout StoreModel) throws(StoreModel.Failure) -> Void
    ) -> StoreModel.Failure? {
        var changed = model
        do throws(StoreModel.Failure) {
            try change(&changed)
            model = changed
            return nil
        } catch {
            if error == .noRoom { model.lookFromFront() }
            return error
        }
    }

    private func outcome<Value>(
        _ work: () async throws(StoreError) -> Value
    ) async -> Result<Value, StoreError> {
        do throws(StoreError) {
            return .success(try await work())
        } catch {
            return .failure(error)
        }
    }

    private func agree<Value>(
        _ expected: StoreModel.Failure?,
        _ actual: Result<Value, StoreError>
    ) throws {
        switch (expected, actual) {
        case (nil, .success), (.tooLarge, .failure(.tooLarge)), (.noRoom, .failure(.noRoom)),
            (.keyTaken, .failure(.keyTaken)):
            return
        default:
            throw Violation("\(actual), expected \(String(describing: expected))")
        }
    }
}

extension RowFilter {
    /// What ``StoreReader/candidates(_:limit:)`` should take, told without SQL.
    fileprivate func matches(_ entry: Entry) -> Bool {
        let hasPrefix = prefix.map { entry.id.text.utf8.starts(with: $0.utf8) } ?? true
        let isBefore = storedBefore.map { entry.storedAt < $0 } ?? true
        return hasPrefix && isBefore && (origin == nil || entry.origin == origin)
    }
}

extension NewBody {
    fileprivate var isUploaded: Bool {
        switch self {
        case .inline: false
        case .uploaded: true
        }
    }
}
