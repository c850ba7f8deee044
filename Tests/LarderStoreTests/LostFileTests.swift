import Foundation
import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

/// P-07: `cache.db` may be deleted, cut or damaged at any time.
@Suite("A cache.db that is lost while it is in use")
struct LostFileTests {
    private let temporary = TemporaryStore.new()

    /// What somebody may do to the files of a running daemon.
    enum Harm: CaseIterable {
        case deleted
        case deletedWithItsWAL
        case walDeleted
        case folderDeleted
        case emptied
        case cutAtAPage
        case cutWithinAPage
        case noise
        case noiseInOnePage
        case replaced
        case replacedByAFolder
        case replacedByALink

        var isDeletion: Bool {
            [.deleted, .deletedWithItsWAL, .folderDeleted].contains(self)
        }

        func apply(to path: String) throws {
            let url = URL(filePath: path)
            switch self {
            case .deleted: unlink(path)
            case .deletedWithItsWAL: for end in ["", "-wal", "-shm"] { unlink(path + end) }
            case .walDeleted: unlink(path + "-wal")
            case .folderDeleted:
                try FileManager.default.removeItem(at: url.deletingLastPathComponent())
            case .emptied: truncate(path, 0)
            case .cutAtAPage: truncate(path, 100 * 4_096)
            case .cutWithinAPage: truncate(path, 1_000)
            case .noise: try overwrite(url, from: 0, count: try Data(contentsOf: url).count)
            case .noiseInOnePage: try overwrite(url, from: 200 * 4_096, count: 4_096)
            case .replaced:
                let old = try Data(contentsOf: url)
                unlink(path)
                try old.write(to: url)
            case .replacedByAFolder:
                unlink(path)
                mkdir(path, 0o700)
            case .replacedByALink:
                rename(path, path + ".elsewhere")
                symlink(path + ".elsewhere", path)
            }
        }

        private func overwrite(_ url: URL, from offset: UInt64, count: Int) throws {
            let file = try FileHandle(forWritingTo: url)
            try file.seek(toOffset: offset)
            try file.write(contentsOf: Data.noise(count))
            try file.close()
        }
    }

    /// To delete it is allowed: the log tells it once, and status not at all.
    private func checkNews(of store: Store, after harm: Harm) {
        let news = store.files.takeNews()
        #expect(news.count == 1 && news[0].sentence.contains("recreated"), "\(news)")
        #expect(news.first?.isWarning == !harm.isDeletion)
        #expect(store.files.findings.count == (harm.isDeletion ? 0 : 1))
    }

    @Test(
        "A lost cache.db is created again; readers go on in it, and reads are right or a miss",
        arguments: Harm.allCases
    )
    func lost(harm: Harm) async throws {
        for number in 0..<40 { try await temporary.put("\(number)", .pattern(60_000)) }
        let large = [UInt8].pattern(200_000, 3)
        let last = try await temporary.upload("large", large).revision
        try await temporary.reopen()
        unowned let store = temporary.store
        let readers = [try store.makeReader(), try store.makeReader()]
        for reader in readers { _ = try reader.entry(temporary.scope, EntryID("3"), now: .epoch) }
        let id = try EntryID("large")
        let chunked = try #require(try await store.chunkedBody(temporary.scope, id))
        let body = try #require(
            try await store.bodies.open(chunked, of: temporary.scope, id, now: .epoch)
        )
        #expect(try await body.next() == large.chunks[0])
        let upload = try await store.bodies.begin()
        try await store.bodies.append(.pattern(65_536), to: upload, now: .epoch)
        let protected = try EntryID("protected")
        store.protect(temporary.scope, protected)

        try harm.apply(to: temporary.cachePath)
        // Before anybody has looked.
        for number in stride(from: 0, to: 40, by: 7) {
            let found = try readers[0].withEntry(
                temporary.scope,
                EntryID("\(number)"),
                now: .epoch
            ) { $0.withBody { Array($0) } }
            #expect(found == nil || found == .pattern(60_000))
        }
        try await store.maintain()

        checkNews(of: store, after: harm)
        #expect(store.files.warnings == [])
        #expect(store.totals.entries == 0 && store.totals.bytes == 0)
        #expect(try await temporary.ids() == [])
        #expect(store.protections(temporary.scope, protected) == 1)
        // What was under way fails, and meets nobody else's bytes.
        let other = try await store.bodies.begin()
        #expect(other != upload)
        await #expect(throws: StoreError.uploadLost) {
            try await store.bodies.append([1], to: upload, now: .epoch)
        }
        await #expect(throws: StoreError.badChunk) { try await body.next() }
        store.bodies.abandon(other)
        // What is stored from now on is found, by readers of before and later ones.
        #expect(try await temporary.put("new", [1, 2]).revision > last)
        try await temporary.upload("large", large)
        for reader in readers + [try store.makeReader()] {
            let found = try reader.withEntry(
                temporary.scope,
                EntryID("new"),
                now: .epoch
            ) { $0.withBody { Array($0) } }
            #expect(found == [1, 2])
            reader.endTransaction()
        }
        #expect(try await temporary.bytes("large") == large)
        try await store.settle()
        let audit = try FileAudit(temporary.cachePath)
        #expect(audit.entries == 2 && audit.bytes == store.totals.bytes)
        try await store.maintain()
        #expect(store.files.findings.count == (harm.isDeletion ? 0 : 1))
        try await temporary.reopen()
        #expect(temporary.store.files.findings == [])
        #expect(try await temporary.bytes("new") == [1, 2])
    }

    @Test("Files that were set aside have their bytes, with the WAL")
    func aside() async throws {
        try await temporary.put("a", [1])
        try await temporary.reopen()
        try await temporary.put("b", [2])
        try Harm.cutWithinAPage.apply(to: temporary.cachePath)
        let wal = try Data(contentsOf: URL(filePath: temporary.cachePath + "-wal"))
        try await temporary.store.maintain()
        let path = temporary.cachePath + ".aside"
        #expect(try Data(contentsOf: URL(filePath: path)).count == 1_000)
        #expect(try Data(contentsOf: URL(filePath: path + "-wal")) == wal)
    }

    @Test("A file that was only touched, or rewritten with the same bytes, is kept")
    func touched() async throws {
        try await temporary.put("a", [1])
        try await temporary.reopen()
        let url = URL(filePath: temporary.cachePath)
        let bytes = try Data(contentsOf: url)
        let file = try FileHandle(forWritingTo: url)
        try file.write(contentsOf: bytes)
        try file.close()
        try await temporary.store.maintain()
        #expect(temporary.store.files.findings == [])
        #expect(try await temporary.bytes("a") == [1])
    }

    @Test("A file that is lost again and again is left alone for a while, and so said")
    func limit() async throws {
        let clock = HandClock()
        let temporary = try TemporaryStore(now: { clock.now })
        let reader = try temporary.store.makeReader()
        for _ in 0..<Limits.recreationsMax {
            try await temporary.put("a", [1])
            try Harm.deleted.apply(to: temporary.cachePath)
            try await temporary.store.maintain()
            #expect(temporary.store.files.warnings == [])
        }
        try await temporary.put("a", [1])
        try Harm.deleted.apply(to: temporary.cachePath)
        for _ in 0..<3 { try await temporary.store.maintain() }
        #expect(temporary.store.files.warnings.count == 1)
        await #expect(throws: StoreError.self) { try await temporary.put("a", [1]) }
        #expect(try reader.entry(temporary.scope, EntryID("a"), now: .epoch) == nil)
        #expect(try await temporary.ids() == [])
        try reader.check()

        clock.advance(by: Limits.recreationTime)
        try await temporary.store.maintain()
        #expect(temporary.store.files.warnings == [])
        try await temporary.put("a", [2])
        #expect(try await temporary.bytes("a") == [2])
        #expect(temporary.store.files.findings.count <= Limits.findingsMax)
    }

    @Test("A reader that is made between the loss and the look at it reads on")
    func lateReader() async throws {
        try await temporary.put("a", [1])
        try Harm.deletedWithItsWAL.apply(to: temporary.cachePath)
        let reader = try temporary.store.makeReader()
        _ = try reader.entry(temporary.scope, EntryID("a"), now: .epoch)
        reader.endTransaction()
        // The reader's trouble was told; this waits behind it.
        try await temporary.store.maintain()
        try await temporary.put("b", [2])
        #expect(try reader.entry(temporary.scope, EntryID("b"), now: .epoch) != nil)
    }

    @Test("After a crash at any step of the new file's creation, the next start goes on")
    func killedMeanwhile() async throws {
        for n in 1... {
            let temporary = try TemporaryStore()
            for number in 0..<5 { try await temporary.put("\(number)", .pattern(9_000)) }
            try await temporary.reopen()
            let last = try await temporary.put("last", [1]).revision
            truncate(temporary.cachePath, 8_192)
            temporary.faults.arm(n, .forGood)
            try? await temporary.store.maintain()
            temporary.faults.disarm()
            try temporary.crash()
            for number in 0..<5 {
                let bytes = try await temporary.bytes("\(number)")
                #expect(bytes == nil || bytes == .pattern(9_000), "n \(n)")
            }
            #expect(try await temporary.put("after", [1]).revision > last)
            #expect(try await temporary.bytes("after") == [1])
            try await temporary.store.settle()
            _ = try FileAudit(temporary.cachePath)
            if temporary.faults.failures == 0 { return }
        }
    }
}

extension Data {
    static func noise(_ count: Int) -> Data {
        var random = SeededRandom(seed: 1)
        return Data((0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) })
    }
}
