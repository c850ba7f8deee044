import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("Reads of several rows at one moment", .timeLimit(.minutes(5)))
struct BatchReadTests {
    private func batch(
        _ store: CacheStore,
        _ scope: ScopeKey,
        _ ids: [String],
        bytesMax: Int = .max
    ) async throws -> [BatchRow] {
        let ids = try ids.map { try EntryID($0) }
        return try await store.read { reader throws(StoreError) in
            try reader.batch(scope, ids, now: .epoch, bytesMax: bytesMax)
        }
    }

    private func bytes(_ row: BatchRow) -> [UInt8]? {
        guard case .found(_, let bytes) = row else { return nil }
        return bytes
    }

    @Test("All rows are of one moment, whatever is written meanwhile")
    func oneMoment() async throws {
        let temporary = try TemporaryStore()
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
                let first = Int(try #require(bytes(rows[0])?.first))
                let last = Int(try #require(bytes(rows[201])?.first))
                #expect((0...1).contains(first - last), "\(first), \(last)")
            }
            try await group.waitForAll()
        }
    }

    @Test("Bytes come as far as they are allowed; JSON in chunks comes whole, others do not")
    func bodies() async throws {
        let temporary = try TemporaryStore()
        let json = Array("[\(String(repeating: "1", count: 200_000))]".utf8)
        let upload = try await temporary.store.beginUpload()
        for chunk in json.chunks {
            try await temporary.store.append(chunk, to: upload, now: .epoch)
        }
        var new = NewEntry.blob(temporary.scope, try EntryID("json"), json)
        new.entry.body = BodySummary(of: json, isJSON: true)
        new.body = .uploaded(upload)
        _ = try await temporary.store.put(new, now: .epoch)
        try await temporary.upload("bytes", .pattern(100_000))
        try await temporary.put("small", [1, 2, 3])
        let ids = ["json", "bytes", "small", "none"]
        let all = try await batch(temporary.store, temporary.scope, ids)
        #expect(all.map { bytes($0) } == [json, nil, [1, 2, 3], nil])
        let few = try await batch(temporary.store, temporary.scope, ids, bytesMax: 3)
        #expect(few.map { bytes($0) } == [nil, nil, [1, 2, 3], nil])
        guard case .missing = all[3] else {
            Issue.record("a row that is not there")
            return
        }
    }

    @Test("A damaged chunk is told, so that its row can go")
    func damaged() async throws {
        let temporary = try TemporaryStore()
        let json = Array("[\(String(repeating: "1", count: 200_000))]".utf8)
        try await temporary.upload("json", json)
        try await temporary.damage(
            "UPDATE entry SET json = 1; UPDATE chunk SET data = zeroblob(length(data))"
        )
        let rows = try await batch(temporary.store, temporary.scope, ["json"])
        guard case .damaged(let body) = rows[0] else {
            Issue.record("a damaged body was read")
            return
        }
        temporary.store.drop(body, of: temporary.scope, try EntryID("json"))
        try await temporary.store.settle()
        #expect(try await temporary.ids() == [])
    }
}
