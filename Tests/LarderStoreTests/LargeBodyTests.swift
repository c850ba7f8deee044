import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("Bodies in chunks")
struct LargeBodyTests {
    private let temporary = TemporaryStore.new()

    @Test(
        "A body of any length comes back whole",
        arguments: [0, 1, 65_535, 65_536, 65_537, 131_072, 131_073, 1_000_000]
    )
    func lengths(count: Int) async throws {
        let bytes = [UInt8].pattern(count, 3)
        try await temporary.upload("large", bytes)
        #expect(try await temporary.bytes("large") == bytes)
        let chunks = Int64((count + 65_535) / 65_536)
        let metadata = Int64(256 + "1000:default".utf8.count + "large".utf8.count)
        #expect(temporary.store.totals.bytes == metadata + Int64(count) + chunks * 64)
        try temporary.crash()
        #expect(try await temporary.bytes("large") == bytes)
        _ = try FileAudit(temporary.cachePath)
    }

    @Test("A running digest is the digest of the whole", arguments: [0, 65_537, 200_000])
    func digest(count: Int) {
        let bytes = [UInt8].pattern(count, 5)
        var running = RunningDigest()
        for chunk in bytes.chunks { running.update(chunk) }
        let summary = BodySummary(of: bytes, isJSON: false)
        #expect(running.digest() == summary.digest && running.byteCount == count)
    }

    @Test("A replaced body stays readable by who reads it, and is removed after that")
    func replaced() async throws {
        let bytes = [UInt8].pattern(200_000)
        try await temporary.upload("large", bytes)
        try await readWhileGone(temporary, bytes) { try await temporary.put("large", [1]) }
        try await temporary.store.settle()
        let audit = try FileAudit(temporary.cachePath)
        #expect(audit.unlinkedBodies == 0)
        #expect(try await temporary.bytes("large") == [1])
    }

    @Test("An evicted body stays readable by who reads it, and is removed after that")
    func evicted() async throws {
        let temporary = try TemporaryStore(configure: { $0.maxBytes = ByteSize(bytes: 300_000) })
        let bytes = [UInt8].pattern(200_000)
        try await temporary.upload("large", bytes)
        try await readWhileGone(temporary, bytes) {
            for number in 0..<3 { try await temporary.put("\(number)", .pattern(60_000)) }
        }
        try await temporary.store.settle()
        let audit = try FileAudit(temporary.cachePath)
        #expect(audit.unlinkedBodies == 0 && audit.entries == 3)
    }

    private func readWhileGone(
        _ temporary: TemporaryStore,
        _ bytes: [UInt8],
        _ remove: () async throws -> Void
    ) async throws {
        let id = try EntryID("large")
        let body = try #require(try await temporary.store.chunkedBody(temporary.scope, id))
        let reader = try #require(
            try await temporary.store.bodies.open(body, of: temporary.scope, id, now: .epoch)
        )
        let first = try #require(try await reader.next())
        try await remove()
        try await temporary.store.settle()
        #expect(try FileAudit(temporary.cachePath).unlinkedBodies == 1)
        #expect(try await first + reader.rest() == bytes)
        let late = try await temporary.store.bodies.open(body, of: temporary.scope, id, now: .epoch)
        #expect(late == nil)
    }

    @Test("An upload that is given up is removed and counts no more")
    func abandoned() async throws {
        let upload = try await temporary.store.bodies.begin()
        try await temporary.store.bodies.append(.pattern(65_536), to: upload, now: .epoch)
        #expect(temporary.store.totals.bytes == 65_600)
        temporary.store.bodies.abandon(upload)
        try await temporary.store.settle()
        #expect(temporary.store.totals.bytes == 0)
        #expect(try FileAudit(temporary.cachePath).unlinkedBodies == 0)
        await #expect(throws: StoreError.uploadLost) {
            try await temporary.store.bodies.append([1], to: upload, now: .epoch)
        }
    }

    @Test("The next start removes the rest of an upload", arguments: [true, false])
    func swept(isOrderly: Bool) async throws {
        let upload = try await temporary.store.bodies.begin()
        for _ in 0..<300 {
            try await temporary.store.bodies.append(.pattern(65_536), to: upload, now: .epoch)
        }
        try await temporary.put("a", [1])
        if isOrderly { try await temporary.reopen() } else { try temporary.crash() }
        try await temporary.store.settle()
        let audit = try FileAudit(temporary.cachePath)
        #expect(audit.unlinkedBodies == 0 && audit.entries == 1)
        #expect(temporary.store.totals.bytes == audit.bytes)
    }

    @Test(
        "A damaged or missing chunk is told of and counted, and the sound part before it is read",
        arguments: [
            "UPDATE chunk SET data = zeroblob(length(data)) WHERE chunk % 2 = 1",
            "DELETE FROM chunk WHERE chunk % 2 = 1",
        ]
    )
    func badChunk(damage: String) async throws {
        let bytes = [UInt8].pattern(100_000, 1)
        try await temporary.upload("large", bytes)
        try await temporary.damage(damage)
        let id = try EntryID("large")
        let body = try #require(try await temporary.store.chunkedBody(temporary.scope, id))
        let reader = try #require(
            try await temporary.store.bodies.open(body, of: temporary.scope, id, now: .epoch)
        )
        #expect(try await reader.next() == bytes.chunks[0])
        await #expect(throws: StoreError.badChunk) { try await reader.next() }
        #expect(temporary.store.totals.damaged == 1)
        // The row goes with it, so that a fetch brings it anew rather than confirms it.
        try await temporary.store.settle()
        #expect(try await temporary.ids() == [])
    }

    @Test(
        "A part is read without the chunks before and after it (S46)",
        arguments: [0..<1, 65_536..<131_072, 65_530..<65_540, 70_000..<70_001, 65_536..<262_145]
    )
    func part(part: Range<Int>) async throws {
        let bytes = [UInt8].pattern(300_000, 1)
        try await temporary.upload("large", bytes)
        let (first, last) = (part.lowerBound / 65_536, (part.upperBound - 1) / 65_536)
        try await temporary.damage(
            "DELETE FROM chunk WHERE chunk % 1048576 NOT BETWEEN \(first) AND \(last)"
        )
        let id = try EntryID("large")
        let body = try #require(try await temporary.store.chunkedBody(temporary.scope, id))
        let reader = try #require(
            try await temporary.store.bodies.open(body, of: temporary.scope, id, now: .epoch)
        )
        reader.seek(to: part)
        #expect(try await reader.rest() == Array(bytes[part]))
        #expect(try await reader.next() == nil)
        #expect(temporary.store.totals.damaged == 0)
    }

    @Test("A chunk of another length than its place has is damaged")
    func shortChunk() async throws {
        try await temporary.upload("large", .pattern(100_000, 1))
        let short = [UInt8].pattern(10)
        let checksum = short.withUnsafeBytes { Checksum.chunk($0) }
        let data = short.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        try await temporary.damage(
            "UPDATE chunk SET data = x'\(data)', checksum = \(checksum) WHERE chunk % 2 = 0"
        )
        let id = try EntryID("large")
        let body = try #require(try await temporary.store.chunkedBody(temporary.scope, id))
        let reader = try #require(
            try await temporary.store.bodies.open(body, of: temporary.scope, id, now: .epoch)
        )
        await #expect(throws: StoreError.badChunk) { try await reader.next() }
    }

    @Test(
        "A damaged body in its row is a miss and is counted, and can be put again",
        arguments: ["data = zeroblob(3)", "data = x'0102'", "data = NULL", "digest_low = 7"]
    )
    func badRow(damage: String) async throws {
        try await temporary.put("a", [1, 2, 3])
        try await temporary.damage("UPDATE entry SET \(damage)")
        #expect(try await temporary.bytes("a") == nil)
        #expect(temporary.store.totals.damaged == 1)
        try await temporary.put("a", [1, 2, 3])
        #expect(try await temporary.bytes("a") == [1, 2, 3])
        #expect(temporary.store.totals.damaged == 1)
    }
}

extension TemporaryStore {
    /// Writes into the file behind the store's back, while it is closed.
    func damage(_ sql: String) async throws {
        try await close()
        try SQLiteConnection(path: cachePath, mode: .readWrite).execute(sql)
        try open()
    }
}
