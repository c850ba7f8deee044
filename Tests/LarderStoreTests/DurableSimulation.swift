import Glibc
import LarderModel
import LarderTestSupport

@testable import LarderStore

/// Random steps on a few ids that are put, pinned and targeted over both files, judged from outside.
///
/// * A base, and what is pinned, is the last thing that was said of it, whatever befalls the cache; and
///   nothing older than that ever comes back.
/// * What is accepted stays until it is settled.
/// * A pin says whether it has its bytes, and pins count what they keep, within their room.
///
/// The cache is lost, the process crashes, and operations of either file fail, at random. A step that
/// failed may have been done or not, and never by half.
final class DurableSimulation {
    /// A client's own, and others that have an origin.
    private static let names = ["blob", "a", "b", "https://host/1", "https://host/2"]

    /// The last thing that was said of an id.
    private enum Said: Equatable {
        case unknown
        case deleted
        case text(String)
    }

    private struct Queued: Equatable {
        let number: ModifierNumber
        let name: String
        let targets: [String]
    }

    /// What the present step may make of an id, or leave as it is where it fails.
    private struct Doubt {
        var said: Said?
        /// Nil for none; empty for any.
        var pins: [PinState?]?
    }

    /// What a read shows: a row, what targets it, and how many changes of it failed.
    struct Shown: Equatable {
        var entry: Entry?
        var pending: [String] = []
        var failed = 0
    }

    private let temporary: TemporaryStore
    private let origin: OriginName
    private var random: SeededRandom
    private var said: [String: Said] = [:]
    private var queue: [Queued] = []
    private var pins: [String: PinState] = [:]
    private var doubts: [String: Doubt] = [:]
    private var hasFailed = false
    /// What state.db had of an id after the step before.
    private var kept: [String: Said] = [:]
    /// The last bytes of a row that is there since.
    private var bytes: [String: Said] = [:]
    private var pinnedBytes: Int64 = 0
    private var count = 0
    /// Made when something is first read of the store that is open.
    private var reader: StoreReader?
    private var keptReads = KeptReads<String, Shown>()
    private var log: [String] = []

    init(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let pinsMaxBytes = random.pick([30_000, 200_000, 1 << 20])
        // Where the cache is smaller than a body, only state.db can take it.
        let maxBytes = random.pick([4_096, 100_000, 1 << 20])
        temporary = try TemporaryStore(configure: {
            $0.maxBytes = ByteSize(bytes: Int64(maxBytes))
            $0.pinsMaxBytes = ByteSize(bytes: Int64(pinsMaxBytes))
        })
        origin = try OriginName("host")
        self.random = random
    }

    func run(steps: Int) async throws -> KeptCounts {
        do {
            for step in 1...steps {
                try await self.step()
                try await judge()
                try judgeKeptReads()
                if step % 8 == 0 { try await judgeRows() }
            }
            try await settleAll()
        } catch {
            throw FailedRun(error, after: log)
        }
        return keptReads.counts
    }

    // MARK: Steps

    private func step() async throws {
        (doubts, hasFailed) = ([:], false)
        let id = random.pick(Self.names)
        if random.next() % 4 == 0 {
            let code: FaultInjection.Code = Bool.random(using: &random) ? .inputOutput : .full
            temporary.faults.arm(Int.random(in: 1...50, using: &random), with: code)
        }
        do throws(StoreError) {
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<26: try await put(id)
            case 26..<31: try await refresh(id)
            case 31..<36: try await writeTombstone(id)
            case 36..<54: try await accept(id)
            case 54..<70: try await settle()
            case 70..<80: try await pin(id)
            case 80..<87: try await unpin(id)
            case 87..<90: try await delete(id)
            case 90..<94: try await evict(id)
            default:
                log.append("maintain")
                try await temporary.store.maintain()
            }
        } catch {
            hasFailed = true
            log.append("  failed: \(error.message)")
            guard temporary.faults.failures > 0 || isExpected(error) else { throw error }
        }
        temporary.faults.disarm()
        try await disturb()
        try await temporary.store.settle()
    }

    private func isExpected(_ error: StoreError) -> Bool {
        switch error {
        case .pinsFull, .noRoom, .tooLarge, .pinned, .targeted: true
        default: false
        }
    }

    /// What befalls the files between two steps.
    private func disturb() async throws {
        let event = random.next() % 16
        guard event < 4 else { return }
        log.append(["lose cache.db", "crash", "crash", "reopen"][Int(event)])
        reader = nil
        keptReads.dropAll()
        switch event {
        case 0: try temporary.loseCache()
        case 1, 2: try temporary.crash()
        default: try await temporary.reopen()
        }
    }

    private func text() -> String {
        count += 1
        let filling = random.pick([10, 10, 10, 3_000, 20_000, 70_000, 150_000])
        return "[\(count),\"\(String(repeating: "x", count: filling))\"]"
    }

    private func entry(_ id: String, _ bytes: [UInt8]) -> Entry {
        var entry = Entry.fetched(named(id), bytes)
        guard id == "blob" else { return entry }
        (entry.kind, entry.origin, entry.etag, entry.freshUntil) = (.blob, nil, nil, nil)
        return entry
    }

    private func put(_ id: String) async throws(StoreError) {
        let text = text()
        let isPinning = random.next() % 4 == 0
        log.append("put \(id) \(text.prefix(5)) \(text.count)\(isPinning ? " and pin" : "")")
        let states: [PinState?]? = isPinning ? [.held] : pins[id] == nil ? nil : [.held, .tooLarge]
        doubt(id, .text(text), pins: states)
        let bytes = Array(text.utf8)
        var new = NewEntry(scope: scope, entry: entry(id, bytes), body: .inline(bytes))
        if bytes.count > Limits.inlineBodyBytesMax {
            let known = isPinning || Bool.random(using: &random) ? named(id) : nil
            new.body = try await temporary.store.upload(bytes, for: known, isPinning: isPinning)
        }
        do throws(StoreError) {
            _ = try await temporary.store.take(new, isPinning: isPinning)
        } catch {
            // The origin has it again, so its tombstone no longer counts: the pin has kept bytes.
            if case .pinsFull = error, !isPinning, said[id] == .deleted, let kept = self.bytes[id] {
                doubts[id]?.said = kept
            }
            throw error
        }
        say(id, .text(text))
    }

    /// Of what is pinned and has its bytes.
    private func refresh(_ id: String) async throws(StoreError) {
        guard pins[id] == .held, case .text(let text)? = kept[id], id != "blob" else { return }
        log.append("refresh \(id)")
        var confirmed = entry(id, Array(text.utf8))
        confirmed.headers.set("X-Confirmed", "yes")
        doubt(id, nil, pins: [.held])
        let outcome = try await temporary.store.refresh(confirmed, in: scope)
        guard case .refreshed = outcome else { throw .corrupt(file: "", step: "refresh \(id)") }
    }

    private func writeTombstone(_ id: String) async throws(StoreError) {
        log.append("tombstone of \(id)")
        // A pin keeps its bytes.
        let states: [PinState?] = bytes[id] == nil ? [.gone, .failed] : [.gone]
        doubt(id, .deleted, pins: pins[id] == nil ? nil : states)
        _ = try await temporary.store.put(.tombstone(scope, named(id)), now: .epoch)
        say(id, .deleted)
    }

    private func accept(_ id: String) async throws(StoreError) {
        count += 1
        let name = "m\(count)"
        let other = random.next() % 3 == 0 ? random.pick(Self.names) : id
        let targets = other == id ? [id] : [id, other]
        log.append("accept \(name) on \(targets)")
        for target in targets { doubt(target, nil, pins: []) }
        let new = NewModifier.changing(targets, name, scope)
        do throws(StoreError) {
            let number = try await temporary.store.modifiers.accept([new], now: .epoch)[0].number
            queue.append(Queued(number: number, name: name, targets: targets))
        } catch {
            temporary.faults.disarm()
            let number = try await temporary.store.modifiers.number(new.id, of: scope)
            if let number { queue.append(Queued(number: number, name: name, targets: targets)) }
            throw error
        }
    }

    private func settle() async throws(StoreError) {
        guard let queued = queue.randomElement(using: &random) else { return }
        let text = text()
        var after: Said?
        let outcome: Settlement.Outcome
        switch random.next() % 6 {
        case 0: outcome = .cancelled
        case 1: outcome = .refused
        case 2: outcome = .confirmed { _, _ in .keep }
        case 3: (outcome, after) = (.confirmed { _, _ in .tombstone(status: 404) }, .deleted)
        default: (outcome, after) = (.confirmed(as: text), .text(text))
        }
        log.append("settle \(queued.name) \(after.map { "\($0)".prefix(12) } ?? "as it is")")
        for target in queued.targets { doubt(target, nil, pins: []) }
        do throws(StoreError) {
            try await temporary.end(queued.number, outcome)
        } catch {
            temporary.faults.disarm()
            let found = try await temporary.store.modifiers.unsettled(after: nil)
            guard !found.contains(where: { $0.number == queued.number }) else { throw error }
        }
        queue.removeAll { $0 == queued }
        if let after { for target in queued.targets { say(target, after) } }
    }

    private func pin(_ id: String) async throws(StoreError) {
        log.append("pin \(id)")
        doubt(id, nil, pins: [.held, .waiting, .tooLarge])
        let outcome = try await temporary.pin(id, from: id == "blob" ? nil : origin)
        log.append("  \(outcome)")
        switch outcome {
        case .held(isNew: true): doubt(id, nil, pins: [.held])
        case .held(isNew: false), .miss: doubt(id, nil, pins: [pins[id], .held])
        case .waiting: doubt(id, nil, pins: [.waiting])
        case .tooLarge: doubt(id, nil, pins: [.tooLarge])
        }
    }

    private func unpin(_ id: String) async throws(StoreError) {
        log.append("unpin \(id)")
        doubt(id, nil, pins: [nil])
        guard try await temporary.unpin(id) == (pins[id] != nil) else {
            throw .corrupt(file: "", step: "unpin \(id)")
        }
    }

    private func delete(_ id: String) async throws(StoreError) {
        log.append("delete \(id)")
        doubt(id, .unknown, pins: nil)
        _ = try await temporary.store.delete(scope, named(id))
        say(id, .unknown)
    }

    private func evict(_ id: String) async throws(StoreError) {
        log.append("evict \(id)")
        doubt(id, .unknown, pins: [nil])
        let isGone = try await temporary.store.pins.evict(scope, named(id))
        if isGone { say(id, .unknown) } else { doubts[id] = nil }
    }

    /// While changes target an id, they too decide what its pin says.
    private func doubt(_ id: String, _ said: Said?, pins: [PinState?]?) {
        let isOpen = isTargeted(id) && pins.map { $0 != [nil] } == true
        doubts[id] = Doubt(said: said, pins: isOpen ? [] : pins)
    }

    private func say(_ id: String, _ what: Said) {
        said[id] = what
        doubts[id]?.said = nil
    }
}

// MARK: Judging

extension DurableSimulation {
    private var scope: ScopeKey { temporary.scope }

    private func isTargeted(_ id: String) -> Bool { queue.contains { $0.targets.contains(id) } }

    private func judge() async throws {
        try await temporary.store.requireInvariants()
        let waiting = try await temporary.store.modifiers.unsettled(after: nil).map(\.number)
        try require(waiting == queue.map(\.number), "\(waiting), not \(queue.map(\.number))")
        let unsettled = temporary.store.modifiers.totals.unsettled
        try require(unsettled == Int64(queue.count), "\(unsettled) unsettled")
        var found: [Pin] = []
        for id in Self.names {
            let pin = try await temporary.store.pins.pin(scope, named(id))
            try judgePin(id, pin)
            try await judge(id, pin)
            found += [pin].compactMap(\.self)
        }
        let page = try await temporary.store.pins.page(of: scope, after: nil, limit: 9)
        try require(Set(page.map(\.id)) == Set(found.map(\.id)), "other pins are listed: \(page)")
        try judgeTotals(of: found)
        try judgeFile()
    }

    private func judgePin(_ id: String, _ pin: Pin?) throws {
        let (old, doubt) = (pins[id], doubts[id]?.pins)
        let states = doubt.map { hasFailed ? $0 + [old] : $0 } ?? [old]
        let isAllowed = doubt?.isEmpty == true || states.contains(pin?.state)
        try require(isAllowed, "\(id) is \(String(describing: pin?.state)), not \(states)")
        pins[id] = pin?.state
        try require(
            temporary.store.pins.isPinned(scope, named(id)) == (pin != nil),
            "the index differs for \(id)"
        )
        guard let pin else { return }
        guard let entry = pin.entry else {
            try require(pin.state != .held && pin.state != .gone, "\(id) has no bytes")
            let texts = [scope.scope.text, id, pin.origin?.text ?? ""]
            let size = texts.reduce(Limits.rowOverheadBytes) { $0 + $1.utf8.count }
            let isCounted = isTargeted(id) || pin.size == Int64(size)
            return try require(isCounted, "\(id) counts \(pin.size), not \(size)")
        }
        let isChunked = entry.body.byteCount > Limits.inlineBodyBytesMax
        let size = entry.rowSize(in: scope, isChunked: isChunked)
        try require(pin.size == size, "\(id) counts \(pin.size), not \(size)")
    }

    /// While no change may let pins grow beyond their room, they do not.
    private func judgeTotals(of found: [Pin]) throws {
        let totals = temporary.store.pins.totals
        let bytes = found.reduce(0) { $0 + $1.size }
        let waiting = found.count { $0.state == .waiting }
        try require(totals.bytes == bytes, "pins have \(totals.bytes) bytes, not \(bytes)")
        try require(totals.count == Int64(found.count), "\(totals.count) pins")
        try require(totals.waiting == Int64(waiting), "\(totals.waiting) waiting")
        let isFree = !pins.keys.contains { isTargeted($0) || doubts[$0]?.pins?.isEmpty == true }
        let limit = max(temporary.store.pins.totals.maxBytes, pinnedBytes)
        try require(!isFree || bytes <= limit, "over pins.max_bytes: \(totals)")
        pinnedBytes = bytes
    }

    private func judge(_ id: String, _ pin: Pin?) async throws {
        let target = try temporary.target(id)
        let names = queue.filter { $0.targets.contains(id) }.map(\.name)
        try require(target?.1 ?? [] == names, "\(id) has \(target?.1 ?? [])")
        let actual: Said
        if let target {
            actual = target.base.map { $0 == "deleted" ? .deleted : .text($0) } ?? .unknown
        } else {
            actual = try await row(id)
        }
        let (last, doubt) = (said[id] ?? .unknown, doubts[id]?.said)
        let isDoubted = hasFailed && actual == doubt
        if isDoubted { said[id] = actual }
        // A pin keeps the bytes of what its origin has deleted, or has made too large for it.
        let isKeptByPin = pin?.entry != nil && target == nil && actual == bytes[id]
        // The cache may have lost what state.db does not have, and then nothing is known.
        let isLost = actual == .unknown
        if isLost { said[id] = .unknown }
        try require(
            actual == last || isDoubted || isKeptByPin || isLost,
            "\(id) is \(actual), not \(last)"
        )
        let isDurable = target != nil || pin?.entry != nil
        let mayBeLost = !isDurable || kept[id] ?? .unknown == .unknown || last == .unknown
        try require(!isLost || mayBeLost, "\(id) was lost")
        kept[id] = isDurable && !isLost ? actual : nil
        bytes[id] = isDurable ? bytes[id] : nil
        if isDurable, case .text = actual { bytes[id] = actual }
        guard isDurable, target == nil, case .text(let text) = actual else { return }
        let entry = try shown(id, loop()).entry
        try require(entry?.body.byteCount == text.utf8.count, "a loop reads \(id) otherwise")
    }

    private func row(_ id: String) async throws(StoreError) -> Said {
        let (scope, store) = (scope, temporary.store)
        let entry = try await store.read { reader throws(StoreError) in
            try reader.entry(scope, named(id), now: .epoch)
        }
        guard entry?.kind != .tombstone else { return .deleted }
        guard let bytes = try await store.bytes(scope, named(id)) else { return .unknown }
        return .text(String(decoding: bytes, as: UTF8.self))
    }

    /// The reader of a loop, which lives through the steps.
    private func loop() throws -> StoreReader {
        let loop = try reader ?? temporary.store.makeReader()
        reader = loop
        return loop
    }

    /// What was kept of reads, where it still counts; what is not kept is read to be kept.
    private func judgeKeptReads() throws {
        let reader = try loop()
        defer { reader.endTransaction() }
        for id in Self.names {
            try keptReads.check(id, counts: reader.stillSays, read: { _ in try shown(id, reader) })
            guard !keptReads.keys.contains(id) else { continue }
            let (result, stamp) = reader.stamping { Result { try shownAtOnce(id, reader) } }
            keptReads.keep(id, (try result.get(), stamp), now: .epoch)
        }
    }

    /// Reads an id as an event loop does.
    private func shownAtOnce(_ id: String, _ reader: StoreReader) throws -> Shown {
        var entry: Entry?
        let isPlain = reader.fastPathRow(scope, named(id), now: .epoch) { entry = $0.entry() }
        return isPlain ? Shown(entry: entry) : try shown(id, reader)
    }

    private func shown(_ id: String, _ reader: StoreReader) throws -> Shown {
        let scope = scope
        return try reader.inConsistentSnapshot { () throws(StoreError) -> Shown in
            Shown(
                entry: try reader.entry(scope, named(id), now: .epoch),
                pending: try reader.targets.target(scope, named(id))?.changes.map(\.modifier) ?? [],
                failed: try reader.targets.deadLetters(scope, named(id))
            )
        }
    }

    private func judgeFile() throws {
        let file = try SQLiteConnection(path: temporary.statePath, mode: .readOnly)
        try require(try file.text("PRAGMA integrity_check") == "ok", "state.db is damaged")
        for (sql, what) in [
            (
                """
                claim WHERE targeted <> EXISTS (SELECT 1 FROM change WHERE settled = 0
                    AND change.scope = claim.scope AND change.id = claim.id)
                """, "rows say wrongly whether they are targeted"
            ),
            (
                """
                change WHERE modifier NOT IN (SELECT number FROM modifier)
                    OR settled = 0 AND NOT EXISTS (SELECT 1 FROM claim
                        WHERE claim.scope = change.scope AND claim.id = change.id)
                """, "changes without modifier or base"
            ),
            ("body WHERE linked = 0", "bodies that no row names"),
            (
                "chunk WHERE chunk >> 20 NOT IN (SELECT body FROM claim WHERE body IS NOT NULL)",
                "chunks that no row names"
            ),
        ] {
            let count = try file.integer("SELECT count(*) FROM \(sql)") ?? -1
            try require(count == 0, "\(count) \(what)")
        }
        let bytes = try file.integer(
            """
            SELECT (SELECT coalesce(sum(size), 0) FROM modifier) + (SELECT coalesce(sum(size), 0)
                FROM claim WHERE pinned_at IS NULL AND in_pins = 0)
            """
        )
        let counted = temporary.store.modifiers.totals.bytes
        try require(counted == bytes, "\(counted) bytes are counted, not \(bytes ?? -1)")
    }

    /// Once it is looked after, state.db has the rows that have a reason, and no other.
    private func judgeRows() async throws {
        try await temporary.store.maintain()
        try await temporary.store.settle()
        let rows = try temporary.count("claim") ?? -1
        let reasons = Self.names.count { pins[$0] != nil || isTargeted($0) }
        try require(rows == Int64(reasons), "\(rows) rows, \(reasons) with a reason")
    }

    /// P-02: everything ends settled, and leaves nothing behind.
    private func settleAll() async throws {
        log.append("settle all")
        for queued in queue { try await temporary.end(queued.number, .cancelled) }
        for id in pins.keys { try await temporary.unpin(id) }
        (queue, pins, doubts, hasFailed) = ([], [:], [:], false)
        try await judgeRows()
        try await judge()
        try require(try temporary.count("chunk") == 0, "chunks stay")
    }
}
