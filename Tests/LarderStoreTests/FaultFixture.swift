import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

/// A full cache whose SQLite operations can be made to fail, and what it has promised.
final class FaultFixture {
    let temporary: TemporaryStore
    private let reader: StoreReader
    private(set) var highestRevision = Revision(0)
    /// What was there when the faults began, and what the step may make of it.
    private var promised: [String: [UInt8]] = [:]
    private var allowed: [String: [UInt8]?] = [:]
    private var order: [String] = []

    var store: Store { temporary.store }
    var faults: FaultInjection { temporary.faults }

    init() async throws {
        temporary = try TemporaryStore(configure: { $0.maxBytes = ByteSize(bytes: 160_000) })
        reader = try temporary.store.makeReader()
        let large = [UInt8].pattern(70_000, 1)
        try await temporary.upload("large", large)
        promised["large"] = large
        for number in 0..<4 {
            let bytes = [UInt8].pattern(20_000, UInt8(number))
            highestRevision = try await temporary.put("small\(number)", bytes).revision
            promised["small\(number)"] = bytes
        }
        highestRevision = try await temporary.answer("fetched", "[1]").revision
        promised["fetched"] = Array("[1]".utf8)
        try await store.settle()
        order = try await temporary.ids(.used)
        #expect(Set(order) == Set(promised.keys))
    }

    func attempt(_ work: (FaultFixture) async throws(StoreError) -> Void) async -> StoreError? {
        do throws(StoreError) {
            try await work(self)
            return nil
        } catch {
            return error
        }
    }

    // MARK: Steps

    func put(_ id: String, _ bytes: [UInt8]) async throws(StoreError) {
        allowed[id] = bytes
        let new = NewEntry.blob(temporary.scope, named(id), bytes)
        highestRevision = try await store.put(new, now: .epoch).revision
        promised[id] = bytes
    }

    func upload(_ id: String, _ bytes: [UInt8]) async throws(StoreError) {
        allowed[id] = bytes
        highestRevision = try await temporary.upload(id, bytes).revision
        promised[id] = bytes
    }

    func refresh(_ id: String) async throws(StoreError) {
        let found = try reader.entry(temporary.scope, named(id), now: .epoch)
        reader.endTransaction()
        guard var entry = found else { return }
        entry.headers.set("X-Confirmed", "yes")
        let outcome = try await store.refresh(entry, in: temporary.scope)
        #expect(outcome == .refreshed(entry))
    }

    func delete(_ id: String) async throws(StoreError) {
        allowed[id] = .some(nil)
        let kind = try await store.delete(temporary.scope, named(id))?.kind
        #expect(kind == .blob)
        promised[id] = nil
    }

    func evict(prefix: String) async throws(StoreError) {
        for id in promised.keys where id.hasPrefix(prefix) { allowed[id] = .some(nil) }
        var filter = RowFilter(scope: temporary.scope)
        filter.prefix = prefix
        let candidates = try await store.candidates(filter, limit: 100)
        let receipt = try await store.evict(candidates)
        #expect(receipt.evicted.count == candidates.count && !candidates.isEmpty)
        for candidate in candidates { promised[candidate.id.text] = nil }
    }

    func use(_ id: String) async throws(StoreError) {
        defer { reader.endTransaction() }
        let found = try reader.entry(temporary.scope, named(id), now: .epoch, isUse: true)
        #expect(found != nil)
        order.removeAll { $0 == id }
        order.append(id)
    }

    func read() async throws(StoreError) {
        try await use("small2")
        let bytes = try await store.bytes(temporary.scope, named("large"))
        #expect(bytes == promised["large"])
        let filter = RowFilter(scope: temporary.scope)
        let ids = try await store.read { reader throws(StoreError) in
            try reader.lists.page(filter, order: .size, after: nil, limit: 2).map(\.entry.id.text)
        }
        #expect(ids.first == "large")
    }

    // MARK: Afterwards

    /// The store is as it should be, works, and is so again after an orderly start and a crash.
    func check(_ comment: String) async throws {
        let error = await attempt { fixture throws(StoreError) in
            try await fixture.store.settle()
        }
        if error == .closed {
            temporary.drop()
            try temporary.open()
        }
        try await checkRows(comment)
        try await temporary.put("after", [1])
        promised["after"] = [1]
        try await checkRows(comment)
        try temporary.crash()
        try await checkRows("crash, " + comment)
    }

    /// Rows are as promised or as the failed step leaves them; the others went in order of use.
    func checkRows(_ comment: String) async throws {
        try await store.settle()
        let audit = try FileAudit(temporary.cachePath)
        let totals = store.totals
        #expect(totals.bytes == audit.bytes && totals.entries == audit.entries, "\(comment)")
        #expect(totals.bytes <= totals.budget && totals.damaged == 0, "\(comment)")
        #expect(try await store.owners() == audit.owners, "\(comment)")
        #expect(audit.unlinkedBodies == 0, "\(comment)")
        var missing: Set<String> = []
        for id in Set(promised.keys).union(allowed.keys) {
            let bytes = try await temporary.bytes(id)
            if bytes == nil, promised[id] != nil { missing.insert(id) }
            let isPromised = bytes == promised[id]
            let isAllowed = allowed[id].map { $0 == bytes } ?? false
            #expect(
                isPromised || isAllowed || bytes == nil,
                "\(comment): \(id) has \(bytes?.count ?? -1) bytes"
            )
        }
        let evicted = missing.filter { allowed[$0] != .some(nil) }
        let oldest = order.filter { promised[$0] != nil && allowed[$0] != .some(nil) }
        #expect(
            evicted.count <= 3 && evicted.isSubset(of: oldest.prefix(4)),
            "\(comment): \(missing) of \(order) are missing"
        )
        for id in missing { promised[id] = nil }
    }
}
