import Glibc
import LarderModel
import LarderTestSupport

@testable import LarderStore

/// Random steps on pinned and unpinned entries over both files, judged in both directions: what is
/// pinned always reads as what was last given, and nothing else is kept.
///
/// The cache is lost, and operations of either file fail, at random. A step that failed may have
/// been done or not, and never by half.
final class PinSimulation {
    private static let names = ["a", "b", "https://host/1", "https://host/2", "n0", "n1"]

    private let temporary: TemporaryStore
    private let faults = FaultInjection()
    private var random: SeededRandom
    private var model: PinModel
    /// The steps that the present step may have left undone, or done.
    private var allowed: [String: [PinModel.Pinned?]] = [:]
    /// What stands under the id of the present step.
    private var cached: (entry: Entry, bytes: [UInt8])?
    private var reader: StoreReader?
    private let origin: OriginName
    private(set) var log: [String] = []

    init(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let pinsMaxBytes: Int64 = [30_000, 200_000, 1_000_000][Int(random.next() % 3)]
        // Where the cache is smaller than a body, only the pins can take it.
        let maxBytes: Int64 = [4_096, 100_000, 1_000_000][Int(random.next() % 3)]
        origin = try OriginName("host")
        temporary = try TemporaryStore(configure: { [faults] configuration in
            configuration.maxBytes = ByteSize(bytes: maxBytes)
            configuration.pinsMaxBytes = ByteSize(bytes: pinsMaxBytes)
            configuration.faults = faults
        })
        model = PinModel(maxBytes: pinsMaxBytes)
        self.random = random
    }

    func run(steps: Int) async throws {
        for step in 1...steps {
            try await self.step()
            try await judge()
            if step % 8 == 0 { try await judgeFile() }
        }
    }

    // MARK: Steps

    private func step() async throws {
        allowed = [:]
        let id = Self.names[Int.random(in: 0..<Self.names.count, using: &random)]
        try await look(at: id)
        let isFaulty = Int.random(in: 0..<4, using: &random) == 0
        if isFaulty {
            let code: FaultInjection.Code = Bool.random(using: &random) ? .inputOutput : .full
            faults.arm(Int.random(in: 1...40, using: &random), with: code)
        }
        do throws(StoreError) {
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<40: try await put(id)
            case 40..<60: try await pin(id)
            case 60..<70: try await unpin(id)
            case 70..<78: try await refresh(id)
            case 78..<84: try await bury(id)
            case 84..<90: try await evict(id)
            default: break
            }
        } catch {
            log.append("  failed: \(error.message)")
            guard faults.failures > 0 || isExpected(error) else { throw error }
        }
        faults.disarm()
        switch Int.random(in: 0..<20, using: &random) {
        case 0: try await loseCache()
        case 1: try crash()
        case 2: try await reopen()
        case 3: try await temporary.store.maintain()
        default: break
        }
        try await temporary.store.settle()
    }

    /// What stands under an id before the step, so that a fault of the step cannot hide it.
    private func look(at id: String) async throws {
        let (scope, named) = (scope, named(id))
        cached = nil
        guard let bytes = try await temporary.store.bytes(scope, named),
            let entry = try await temporary.store.read({ reader throws(StoreError) in
                try reader.entry(scope, named, now: .epoch)
            }), entry.kind != .tombstone
        else { return }
        cached = (entry, bytes)
    }

    private func isExpected(_ error: StoreError) -> Bool {
        switch error {
        case .pinsFull, .noRoom, .tooLarge, .pinned: true
        default: false
        }
    }

    private func entry(_ id: String, _ bytes: [UInt8]) -> Entry {
        let isBlob = !id.contains("://")
        var entry = Entry(
            id: named(id),
            kind: isBlob ? .blob : .fetched,
            storedAt: .epoch,
            revision: Revision(0),
            body: BodySummary(of: bytes, isJSON: false)
        )
        if !isBlob {
            entry.origin = origin
            entry.etag = "\"\(entry.body.digest.text)\""
        }
        return entry
    }

    private func put(_ id: String) async throws(StoreError) {
        let count = [0, 10, 3_000, 20_000, 70_000, 150_000].randomElement(using: &random) ?? 0
        let bytes = [UInt8].pattern(count, UInt8.random(in: 0...255, using: &random))
        let isPinning = Int.random(in: 0..<4, using: &random) == 0
        log.append("put \(id) \(count)\(isPinning ? " and pin" : "")")
        let entry = entry(id, bytes)
        let size = entry.rowSize(in: scope, isChunked: count > Limits.inlineBodyBytesMax)
        let old = model.pins[id]
        let new = PinModel.Pinned(bytes: bytes, state: .held, size: size)
        let isPinned = isPinning || old != nil
        if isPinned, model.fits(size, in: id) {
            allowed[id] = [old, new]
        } else if let old, !isPinning {
            var full = old
            // A client hears of its own put that it does not fit; an origin's answer is noted.
            if old.bytes == nil || entry.kind == .fetched { full.state = .tooLarge }
            allowed[id] = [old, full]
        }
        let body = try await upload(bytes, for: id, isPinning)
        do throws(StoreError) {
            let put = NewEntry(scope: scope, entry: entry, body: body)
            if isPinning {
                _ = try await temporary.store.pins.put(put, now: .epoch)
            } else {
                _ = try await temporary.store.put(put, now: .epoch)
            }
        } catch {
            if let upload = body.upload { temporary.store.bodies.abandon(upload) }
            throw error
        }
        if isPinned, model.fits(size, in: id) { settle(id, as: new) }
    }

    private func upload(
        _ bytes: [UInt8],
        for id: String,
        _ isPinning: Bool
    ) async throws(StoreError) -> NewBody {
        guard bytes.count > Limits.inlineBodyBytesMax else { return .inline(bytes) }
        let store = temporary.store
        let isTold = isPinning || Bool.random(using: &random)
        let upload =
            isTold
            ? try await store.bodies.begin(for: scope, named(id), isPinning: isPinning)
            : try await store.bodies.begin()
        do throws(StoreError) {
            for chunk in bytes.chunks {
                try await store.bodies.append(chunk, to: upload, now: .epoch)
            }
        } catch {
            store.bodies.abandon(upload)
            throw error
        }
        return .uploaded(upload)
    }

    private func pin(_ id: String) async throws(StoreError) {
        let isURL = id.contains("://")
        log.append("pin \(id), cached \(cached?.bytes.count ?? -1)")
        let old = model.pins[id]
        let markSize = Int64(
            Limits.rowOverheadBytes + scope.text.utf8.count + id.utf8.count
                + (isURL ? origin.text.utf8.count : 0)
        )
        let marked = PinModel.Pinned(bytes: nil, state: .waiting, size: old?.size ?? markSize)
        let full = PinModel.Pinned(bytes: nil, state: .tooLarge, size: old?.size ?? markSize)
        var held: PinModel.Pinned?
        if let cached, old?.bytes == nil {
            let isChunked = cached.bytes.count > Limits.inlineBodyBytesMax
            let size = cached.entry.rowSize(in: scope, isChunked: isChunked)
            held = PinModel.Pinned(bytes: cached.bytes, state: .held, size: size)
        }
        if old?.bytes == nil { allowed[id] = [old, held, marked, full] }
        let outcome = try await temporary.store.pins.pin(
            scope,
            named(id),
            origin: isURL ? origin : nil,
            now: .epoch
        )
        log.append("  \(outcome)")
        switch outcome {
        case .held: if old?.bytes == nil { settle(id, as: held) }
        case .waiting: settle(id, as: marked)
        case .tooLarge: settle(id, as: full)
        case .miss: settle(id, as: old)
        }
    }

    private func unpin(_ id: String) async throws(StoreError) {
        log.append("unpin \(id)")
        let old = model.pins[id]
        allowed[id] = [old, nil]
        let wasPinned = try await temporary.store.pins.unpin(scope, named(id), now: .epoch)
        if wasPinned != (old != nil) { throw .corrupt(file: "", step: "unpin \(id): \(wasPinned)") }
        settle(id, as: nil)
    }

    private func evict(_ id: String) async throws(StoreError) {
        log.append("evict \(id)")
        let old = model.pins[id]
        allowed[id] = [old, nil]
        // What was unpinned may be saved still.
        let isReleased = old == nil && temporary.store.isDurable(scope, named(id))
        let wasKept = try await temporary.store.pins.evict(scope, named(id))
        guard wasKept == (old != nil) || isReleased else {
            throw .corrupt(file: "", step: "evict \(id): \(wasKept)")
        }
        settle(id, as: nil)
    }

    private func refresh(_ id: String) async throws(StoreError) {
        guard let old = model.pins[id], let bytes = old.bytes, id.contains("://") else { return }
        log.append("refresh \(id)")
        var confirmed = entry(id, bytes)
        confirmed.headers.set("X-Confirmed", "yes")
        let isChunked = bytes.count > Limits.inlineBodyBytesMax
        var new = old
        new.state = .held
        new.size = confirmed.rowSize(in: scope, isChunked: isChunked)
        if model.fits(new.size, in: id) { allowed[id] = [old, new] }
        let outcome = try await temporary.store.refresh(confirmed, in: scope)
        guard case .refreshed = outcome else { throw .corrupt(file: "", step: "refresh \(id)") }
        settle(id, as: new)
    }

    private func bury(_ id: String) async throws(StoreError) {
        guard id.contains("://") else { return }
        log.append("bury \(id)")
        let old = model.pins[id]
        var buried = old
        buried?.state = old?.bytes == nil ? .failed : .gone
        allowed[id] = [old, buried]
        var entry = Entry(
            id: named(id),
            kind: .tombstone,
            status: 410,
            storedAt: .epoch,
            revision: Revision(0),
            body: BodySummary(of: [], isJSON: false)
        )
        entry.origin = origin
        let new = NewEntry(scope: scope, entry: entry, body: .inline([]))
        _ = try await temporary.store.put(new, now: .epoch)
        settle(id, as: buried)
    }

    private func settle(_ id: String, as pinned: PinModel.Pinned?) {
        model.pins[id] = pinned
        allowed[id] = nil
    }

    // MARK: What befalls the files

    private func loseCache() async throws {
        log.append("lose cache.db")
        try await reopen {
            for suffix in ["", "-wal", "-shm"] { unlink(self.temporary.cachePath + suffix) }
        }
    }

    private func reopen(_ meanwhile: () -> Void = {}) async throws {
        log.append("reopen")
        reader = nil
        try await temporary.close()
        meanwhile()
        try temporary.open()
    }

    private func crash() throws {
        log.append("crash")
        reader = nil
        try temporary.crash()
    }

    // MARK: Judging

    private var scope: ScopeKey { temporary.store.key(for: .first) }

    private func judge() async throws {
        let store = temporary.store
        try await store.requireInvariants()
        let totals = store.pins.totals
        try require(totals.bytes <= model.maxBytes, "over pins.max_bytes: \(totals)")
        for id in Self.names {
            let found = try await store.pins.pin(scope, named(id))
            try await settleDoubt(id, found)
            let expected = model.pins[id]
            try require(
                found?.state == expected?.state && (found?.size ?? 0) == (expected?.size ?? 0),
                "\(id) is \(String(describing: found)), not \(String(describing: expected?.state))"
            )
            try require(
                store.pins.isPinned(scope, named(id)) == (expected != nil),
                "the index differs for \(id)"
            )
            guard let bytes = expected?.bytes else { continue }
            let read = try await store.bytes(scope, named(id))
            try require(read == bytes, "\(id) has \(read?.count ?? -1) bytes, not \(bytes.count)")
            try judgeOnLoop(id, bytes)
        }
        try require(totals.bytes == model.bytes, "\(totals.bytes) bytes, not \(model.bytes)")
        try require(totals.count == Int64(model.pins.count), "\(totals.count) pins")
        let waiting = model.pins.values.count { $0.state == .waiting }
        try require(totals.waiting == Int64(waiting), "\(totals.waiting) waiting")
    }

    /// What a step that failed has left decides which of the two it was.
    private func settleDoubt(_ id: String, _ found: Pin?) async throws {
        guard let allowed = allowed[id] else { return }
        let bytes = found?.entry == nil ? nil : try await temporary.store.bytes(scope, named(id))
        let actual = found.map { pin in
            PinModel.Pinned(bytes: bytes, state: pin.state, size: pin.size)
        }
        try require(
            allowed.contains { $0 == actual },
            "\(id) is \(String(describing: found)), which the step cannot leave"
        )
        model.pins[id] = actual
    }

    /// The same through the reader of a loop, which has lived through the steps.
    private func judgeOnLoop(_ id: String, _ bytes: [UInt8]) throws {
        let reader = try self.reader ?? temporary.store.makeReader()
        self.reader = reader
        defer { reader.endTransaction() }
        let count = try reader.withEntry(scope, named(id), now: .epoch) { $0.byteCount }
        try require(count == bytes.count, "a loop reads \(count ?? -1) bytes of \(id)")
    }

    /// In the file is what the model has, and once it is looked after nothing of what was unpinned or
    /// replaced.
    private func judgeFile() async throws {
        try await temporary.store.maintain()
        try await temporary.store.settle()
        let file = try SQLiteConnection(path: temporary.statePath, mode: .readOnly)
        try require(try file.text("PRAGMA integrity_check") == "ok", "state.db is damaged")
        let rows = try file.integer("SELECT count(*) FROM claim") ?? -1
        try require(rows == Int64(model.pins.count), "\(rows) rows of pins")
        let orphans = try file.integer(
            "SELECT count(*) FROM chunk WHERE chunk >> 20 NOT IN (SELECT body FROM claim)"
        )
        try require(orphans == 0, "\(orphans ?? -1) chunks that no pin names")
        let bodies = try file.integer("SELECT count(*) FROM body WHERE linked = 0")
        try require(bodies == 0, "\(bodies ?? -1) bodies that no pin names")
    }

    private func require(_ condition: Bool, _ message: @autoclosure () -> String) throws {
        if !condition { throw Disagreement(message: message()) }
    }

    struct Disagreement: Error, CustomStringConvertible {
        let message: String
        var description: String { message }
    }

    private func named(_ text: String) -> EntryID {
        guard let id = try? EntryID(text) else { preconditionFailure("\(text) is no id") }
        return id
    }
}
