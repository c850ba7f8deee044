import Glibc
import LarderModel
import LarderTestSupport

@testable import LarderStore

/// Random steps on a few ids that are put, pinned and targeted over both files, judged from
/// outside: a base is the last thing that was said of its target, what is accepted stays until it
/// is settled, and nothing older than the last thing said ever comes back.
///
/// The cache is lost, the process crashes, and operations of either file fail, at random. A step
/// that failed may have been done or not, and never by half.
final class QueueSimulation {
    private static let names = ["a", "b", "c", "d"]

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

    /// What a read shows: a row, what targets it, and how many changes of it failed.
    struct Shown: Equatable {
        var entry: Entry?
        var pending: [String] = []
        var failed = 0
    }

    private let temporary: TemporaryStore
    private let faults = FaultInjection()
    private var random: SeededRandom
    private var said: [String: Said] = [:]
    /// What the present step may have had said, if it failed.
    private var doubts: [String: Said] = [:]
    private var queue: [Queued] = []
    private var pinned: Set<String> = []
    /// Ids whose pin the present step may have changed.
    private var doubtedPins: Set<String> = []
    private var count = 0
    /// Made when something is first kept of the store that is open.
    private var reader: StoreReader?
    private(set) var kept = KeptReads<String, Shown>()
    private(set) var log: [String] = []

    init(seed: UInt64) throws {
        random = SeededRandom(seed: seed)
        temporary = try TemporaryStore(configure: { [faults] in
            $0.maxBytes = ByteSize(bytes: 1 << 20)
            $0.faults = faults
        })
    }

    func run(steps: Int) async throws {
        for _ in 1...steps {
            try await step()
            try await judge()
            try judgeKept()
        }
        try await settleAll()
    }

    // MARK: Steps

    private func step() async throws {
        doubts = [:]
        doubtedPins = []
        let id = Self.names[Int.random(in: 0..<Self.names.count, using: &random)]
        if Int.random(in: 0..<4, using: &random) == 0 {
            let code: FaultInjection.Code = Bool.random(using: &random) ? .inputOutput : .full
            faults.arm(Int.random(in: 1...50, using: &random), with: code)
        }
        do throws(StoreError) {
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<25: try await answer(id)
            case 25..<30: try await bury(id)
            case 30..<55: try await accept(id)
            case 55..<75: try await settle()
            case 75..<82: try await pin(id)
            case 82..<88: try await unpin(id)
            case 88..<91: try await delete(id)
            case 91..<94: try await evict(id)
            default:
                log.append("maintain")
                try await temporary.store.maintain()
            }
        } catch {
            log.append("  failed: \(error.message)")
            guard faults.failures > 0 || [.targeted, .pinned].contains(error) else { throw error }
        }
        faults.disarm()
        switch Int.random(in: 0..<16, using: &random) {
        case 0:
            log.append("lose cache.db")
            disconnect()
            try await temporary.close()
            for suffix in ["", "-wal", "-shm"] { unlink(temporary.cachePath + suffix) }
            try temporary.open()
        case 1, 2:
            log.append("crash")
            disconnect()
            try temporary.crash()
        case 3:
            log.append("reopen")
            disconnect()
            try await temporary.reopen()
        default: break
        }
        try await temporary.store.settle()
    }

    private func disconnect() {
        reader = nil
        kept.dropAll()
    }

    private func text() -> String {
        count += 1
        let filling = [10, 10, 10, 3_000, 70_000].randomElement(using: &random) ?? 10
        return "[\(count),\"\(String(repeating: "x", count: filling))\"]"
    }

    private func answer(_ id: String) async throws(StoreError) {
        let text = text()
        log.append("answer \(id) \(text.prefix(5))")
        doubts[id] = .text(text)
        try await temporary.answer(id, text)
        say(id, .text(text))
    }

    private func bury(_ id: String) async throws(StoreError) {
        log.append("bury \(id)")
        doubts[id] = .deleted
        _ = try await temporary.store.put(.tombstone(scope, named(id)), now: .epoch)
        say(id, .deleted)
    }

    private func accept(_ id: String) async throws(StoreError) {
        count += 1
        let name = "m\(count)"
        var targets = [id]
        if Int.random(in: 0..<3, using: &random) == 0 {
            targets.append(Self.names[Int.random(in: 0..<Self.names.count, using: &random)])
            if targets[0] == targets[1] { targets.removeLast() }
        }
        log.append("accept \(name) on \(targets)")
        let new = NewModifier.changing(targets, name, scope)
        do throws(StoreError) {
            let number = try await temporary.store.modifiers.accept([new], now: .epoch)[0].number
            queue.append(Queued(number: number, name: name, targets: targets))
        } catch {
            faults.disarm()
            guard let id = try? ModifierID(name) else { throw error }
            let number = try await temporary.store.modifiers.number(id, of: scope)
            if let number { queue.append(Queued(number: number, name: name, targets: targets)) }
            throw error
        }
    }

    private func settle() async throws(StoreError) {
        guard let queued = queue.randomElement(using: &random) else { return }
        let kind = Int.random(in: 0..<6, using: &random)
        let text = text()
        log.append("settle \(queued.name) \(kind) \(text.prefix(5))")
        let outcome: Settlement.Outcome
        var after: Said?
        switch kind {
        case 0: outcome = .cancelled
        case 1: outcome = .dead(.refused) { _, _ in LostView(before: [1]) }
        case 2: outcome = .confirmed { _, _ in .keep }
        case 3:
            outcome = .confirmed { _, _ in .tombstone(status: 404) }
            after = .deleted
        default:
            let bytes = Array(text.utf8)
            outcome = .confirmed { id, _ in .put(.fetched(id, bytes), bytes) }
            after = .text(text)
        }
        let settlement = Settlement(number: queued.number, outcome: outcome)
        do throws(StoreError) {
            _ = try await temporary.store.modifiers.settle([settlement], now: .epoch)
        } catch {
            faults.disarm()
            let found = try await temporary.store.modifiers.unsettled(after: nil)
            guard !found.contains(where: { $0.number == queued.number }) else { throw error }
        }
        queue.removeAll { $0 == queued }
        if let after { for target in queued.targets { say(target, after) } }
    }

    private func pin(_ id: String) async throws(StoreError) {
        log.append("pin \(id)")
        doubtedPins = [id]
        let origin = try? OriginName("host")
        let outcome = try await temporary.store.pins.pin(
            scope,
            named(id),
            origin: origin,
            now: .epoch
        )
        log.append("  \(outcome)")
        if outcome != .miss { pinned.insert(id) }
        doubtedPins = []
    }

    private func unpin(_ id: String) async throws(StoreError) {
        log.append("unpin \(id)")
        doubtedPins = [id]
        let wasPinned = try await temporary.store.pins.unpin(scope, named(id), now: .epoch)
        if wasPinned != pinned.contains(id) { throw .corrupt(file: "", step: "unpin \(id)") }
        pinned.remove(id)
        doubtedPins = []
    }

    private func delete(_ id: String) async throws(StoreError) {
        log.append("delete \(id)")
        doubts[id] = .unknown
        _ = try await temporary.store.delete(scope, named(id))
        say(id, .unknown)
    }

    private func evict(_ id: String) async throws(StoreError) {
        log.append("evict \(id)")
        doubtedPins = [id]
        guard try await temporary.store.pins.evict(scope, named(id)) else { return }
        pinned.remove(id)
        say(id, .unknown)
    }

    private func say(_ id: String, _ what: Said) {
        said[id] = what
        doubts[id] = nil
    }

    // MARK: Judging

    private var scope: ScopeKey { temporary.scope }

    private func judge() async throws {
        try await temporary.store.requireInvariants()
        let found = try await temporary.store.modifiers.unsettled(after: nil)
        let expected = queue.map(\.number)
        try require(found.map(\.number) == expected, "\(found.map(\.number)), not \(expected)")
        let totals = temporary.store.modifiers.totals
        try require(totals.unsettled == Int64(queue.count), "\(totals.unsettled) unsettled")
        for id in Self.names {
            try await judgePin(id)
            try await judge(id)
        }
        try judgeFile()
    }

    private func judgePin(_ id: String) async throws {
        let isPinned = try await temporary.store.pins.pin(scope, named(id)) != nil
        if doubtedPins.contains(id) {
            if isPinned { pinned.insert(id) } else { pinned.remove(id) }
        }
        try require(isPinned == pinned.contains(id), "\(id) is \(isPinned ? "" : "not ")pinned")
        try require(
            temporary.store.pins.isPinned(scope, named(id)) == isPinned,
            "the index differs for \(id)"
        )
    }

    private func judge(_ id: String) async throws {
        let targets = queue.filter { $0.targets.contains(id) }
        let target = try temporary.target(id)
        try require(target?.1 ?? [] == targets.map(\.name), "\(id) has \(target?.1 ?? [])")
        let last = said[id] ?? .unknown
        let actual: Said
        if let target {
            actual = target.base.map { $0 == "deleted" ? .deleted : .text($0) } ?? .unknown
        } else {
            actual = try await entry(id)
        }
        if let doubt = doubts[id], actual == doubt, actual != last { said[id] = doubt }
        let isSaid = actual == last || doubts[id] == actual
        // The cache may have lost what nothing kept, and then nothing is known.
        let wasLost = actual == .unknown
        if wasLost { said[id] = .unknown }
        // A pin keeps the bytes of what its origin has deleted.
        let isGone = last == .deleted || doubts[id] == .deleted
        let isKeptByPin = target == nil && pinned.contains(id) && isGone
        try require(isSaid || wasLost || isKeptByPin, "\(id) is \(actual), not \(last)")
        try require(
            !wasLost || target == nil || last == .unknown || !hadBase.contains(id),
            "the base of \(id) was lost"
        )
        hadBase = hadBase.subtracting([id]).union(target != nil && !wasLost ? [id] : [])
    }

    /// The targets whose base was known after the step before.
    private var hadBase: Set<String> = []

    private func entry(_ id: String) async throws -> Said {
        let (scope, store) = (scope, temporary.store)
        let entry = try await store.read { reader throws(StoreError) in
            try reader.entry(scope, named(id), now: .epoch)
        }
        guard let entry else { return .unknown }
        guard entry.kind != .tombstone else { return .deleted }
        guard let bytes = try await store.bytes(scope, named(id)) else { return .unknown }
        return .text(String(decoding: bytes, as: UTF8.self))
    }

    /// What was kept of reads, where it still counts; what is not kept is read to be kept.
    private func judgeKept() throws {
        let reader = try reader ?? temporary.store.makeReader()
        self.reader = reader
        defer { reader.endTransaction() }
        for id in Self.names {
            try kept.check(
                id,
                counts: reader.stillSays,
                read: { _ in try shown(id, reader) }
            )
            guard !kept.keys.contains(id) else { continue }
            let (result, stamp) = reader.stamping { Result { try shownAtOnce(id, reader) } }
            kept.keep(id, (try result.get(), stamp), now: .epoch)
        }
    }

    /// Reads an id as an event loop does.
    private func shownAtOnce(_ id: String, _ reader: StoreReader) throws -> Shown {
        var entry: Entry?
        let isPlain = reader.plainRow(scope, named(id), now: .epoch) { entry = $0.entry() }
        return isPlain ? Shown(entry: entry) : try shown(id, reader)
    }

    private func shown(_ id: String, _ reader: StoreReader) throws -> Shown {
        let scope = scope
        return try reader.atOneMoment { () throws(StoreError) -> Shown in
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
        let wrong = try file.integer(
            """
            SELECT count(*) FROM claim WHERE targeted <> EXISTS (SELECT 1 FROM change
                WHERE change.scope = claim.scope AND change.id = claim.id AND settled = 0)
            """
        )
        try require(wrong == 0, "\(wrong ?? -1) rows say wrongly whether they are targeted")
        let orphans = try file.integer(
            """
            SELECT count(*) FROM change WHERE modifier NOT IN (SELECT number FROM modifier)
                OR settled = 0 AND NOT EXISTS (SELECT 1 FROM claim
                    WHERE claim.scope = change.scope AND claim.id = change.id)
            """
        )
        try require(orphans == 0, "\(orphans ?? -1) changes without modifier or base")
        let bodies = try file.integer("SELECT count(*) FROM body WHERE linked = 0") ?? -1
        try require(bodies == 0, "\(bodies) bodies that no row names")
        let bytes = try file.integer(
            """
            SELECT (SELECT coalesce(sum(size), 0) FROM modifier) + (SELECT coalesce(sum(size), 0)
                FROM claim WHERE pinned_at IS NULL AND in_pins = 0)
            """
        )
        let counted = temporary.store.modifiers.totals.bytes
        try require(counted == bytes, "\(counted) bytes are counted, not \(bytes ?? -1)")
    }

    /// P-02: everything ends settled, and leaves nothing behind.
    private func settleAll() async throws {
        for queued in queue {
            let settlement = Settlement(number: queued.number, outcome: .cancelled)
            _ = try await temporary.store.modifiers.settle([settlement], now: .epoch)
        }
        queue = []
        for id in pinned { _ = try await temporary.store.pins.unpin(scope, named(id), now: .epoch) }
        pinned = []
        doubts = [:]
        try await temporary.store.maintain()
        try await temporary.store.settle()
        try await judge()
        try require(try temporary.count("claim") == 0, "rows stay")
        try require(try temporary.count("chunk") == 0, "chunks stay")
    }
}
