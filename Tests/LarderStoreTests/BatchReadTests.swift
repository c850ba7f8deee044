import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

/// A row, and its bytes where they stand in it or could be read.
private struct ReadRow: Sendable {
    let bytes: [UInt8]?
    /// The body that could not be read.
    var damaged: ChunkedBody?
}

@Suite("Reads of several rows at one moment", .timeLimit(.minutes(5)))
struct BatchReadTests {
    private let temporary = TemporaryStore.new()

    private func batch(
        _ store: Store,
        _ scope: ScopeKey,
        _ ids: [String]
    ) async throws -> [ReadRow?] {
        let ids = try ids.map { try EntryID($0) }
        return try await store.read { reader throws(StoreError) in
            try reader.inConsistentSnapshot { () throws(StoreError) in
                var rows: [ReadRow?] = []
                for id in ids { rows.append(try Self.row(scope, id, reader)) }
                return rows
            }
        }
    }

    private static func row(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ reader: StoreReader
    ) throws(StoreError) -> ReadRow? {
        let found = try reader.withEntry(scope, id, now: .epoch) { row in
            (row.chunkedBody, row.withBody { Array($0) })
        }
        guard let (chunks, bytes) = found else { return nil }
        guard let chunks else { return ReadRow(bytes: bytes) }
        let whole = try reader.bodies.whole(chunks)
        return ReadRow(bytes: whole, damaged: whole == nil ? chunks : nil)
    }

    @Test("All rows are of one moment, whatever is written meanwhile")
    func oneMoment() async throws {
        let (store, scope) = (temporary.store, temporary.scope)
        for id in ["a", "b"] { try await temporary.put(id, [0]) }
        for number in 0..<200 { try await temporary.put("x\(number)", .pattern(2_000)) }
        let ids = ["a"] + (0..<200).map { "x\($0)" } + ["b"]
        try await withThrowingTaskGroup(of: Void.self) { group in
            let (a, b) = (try EntryID("a"), try EntryID("b"))
            group.addTask {
                for mark in UInt8(1)...200 {
                    _ = try await store.put(.blob(scope, a, [mark]), now: .epoch)
                    _ = try await store.put(.blob(scope, b, [mark]), now: .epoch)
                }
            }
            for _ in 0..<100 {
                let rows = try await batch(store, scope, ids)
                let first = Int(try #require(rows[0]?.bytes?.first))
                let last = Int(try #require(rows[201]?.bytes?.first))
                #expect((0...1).contains(first - last), "\(first), \(last)")
            }
            try await group.waitForAll()
        }
    }

    @Test("A body in chunks is read whole in the transaction of its row")
    func bodies() async throws {
        let json = Array("[\(String(repeating: "1", count: 200_000))]".utf8)
        try await temporary.upload("json", json)
        try await temporary.put("small", [1, 2, 3])
        let ids = ["json", "small", "none"]
        let all = try await batch(temporary.store, temporary.scope, ids)
        #expect(all.map { $0?.bytes } == [json, [1, 2, 3], nil])
    }

    @Test("A damaged chunk is told, so that its row can go")
    func damaged() async throws {
        let json = Array("[\(String(repeating: "1", count: 200_000))]".utf8)
        try await temporary.upload("json", json)
        try await temporary.damage(
            "UPDATE entry SET json = 1; UPDATE chunk SET data = zeroblob(length(data))"
        )
        let rows = try await batch(temporary.store, temporary.scope, ["json"])
        guard let body = rows[0]?.damaged else {
            Issue.record("a damaged body was read")
            return
        }
        temporary.store.bodies.drop(body, of: temporary.scope, try EntryID("json"))
        try await temporary.store.settle()
        #expect(try await temporary.ids() == [])
    }
}
