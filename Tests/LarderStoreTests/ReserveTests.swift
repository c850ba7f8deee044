import Foundation
import LarderModel
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderStore

@Suite("The reserve, and a full disk")
struct ReserveTests {
    fileprivate static let bytes: Int64 = 1 << 20

    /// A disk whose free space is told by the test.
    private final class Disk: Sendable {
        private let free = Mutex<Int64>(1 << 40)

        func set(_ bytes: Int64) { free.withLock { $0 = bytes } }
        func freeBytes(_ folder: String) -> Int64? { free.withLock { $0 } }

        /// A store that has a reserve on it.
        func store() throws -> TemporaryStore {
            try TemporaryStore(configure: {
                $0.reserveBytes = ReserveTests.bytes
                $0.freeBytes = { self.freeBytes($0) }
            })
        }

        func reserve(in directory: TemporaryDirectory) -> Reserve {
            Reserve(directory: directory.path, bytes: ReserveTests.bytes) { self.freeBytes($0) }
        }
    }

    private func blocks(_ path: String) -> Int64? {
        var answer = stat()
        guard stat(path, &answer) == 0 else { return nil }
        return Int64(answer.st_blocks) * 512
    }

    @Test("The reserve has a block under every byte, is released, and is taken again with room")
    func life() throws {
        let directory = try TemporaryDirectory()
        let disk = Disk()
        let reserve = disk.reserve(in: directory)
        let path = directory.path("reserve")
        #expect(!reserve.isHeld && !reserve.release())
        #expect(reserve.take() && reserve.isHeld)
        #expect(try #require(blocks(path)) >= Self.bytes)
        #expect(
            try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
                == 0o600
        )
        #expect(reserve.take())
        #expect(reserve.release() && !reserve.isHeld && blocks(path) == nil)
        #expect(!reserve.release())
        // Not the last bytes of the disk.
        disk.set(reserve.bytesNeeded - 1)
        #expect(!reserve.take() && !reserve.isHeld && blocks(path) == nil)
        disk.set(reserve.bytesNeeded)
        #expect(reserve.take())
        // Somebody removes it, or cuts it.
        unlink(path)
        #expect(reserve.take() && blocks(path) != nil)
        truncate(path, 10)
        #expect(reserve.take() && blocks(path) ?? 0 >= Self.bytes)
    }

    @Test("A look says whether it is there with its space, and if not, why")
    func look() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("reserve")
        let disk = Disk()
        let reserve = disk.reserve(in: directory)
        func finding(_ state: ReserveFinding.State) -> ReserveFinding {
            ReserveFinding(path: path, bytes: Self.bytes, state: state)
        }
        #expect(reserve.look() == finding(.missing))
        reserve.take()
        #expect(reserve.look() == finding(.held))
        // What another has cut or removed is told though nobody has taken it again yet.
        truncate(path, 10)
        #expect(reserve.look() == finding(.missing))
        unlink(path)
        #expect(reserve.look() == finding(.missing))
        disk.set(reserve.bytesNeeded - 7)
        #expect(reserve.look() == finding(.noRoom(short: 7)))
        mkdir(path, 0o700)
        #expect(reserve.look() == finding(.obstructed))
        #expect(!reserve.take())
        #expect(reserve.look() == finding(.obstructed))
        rmdir(path)
        disk.set(reserve.bytesNeeded)
        #expect(reserve.take())
        #expect(reserve.look() == finding(.held))
        // It looks only.
        #expect(reserve.release())
        #expect(reserve.look() == finding(.missing) && blocks(path) == nil)
        let none = Reserve(directory: directory.path, bytes: 0, freeBytes: { _ in nil })
        #expect(none.look() == nil)
    }

    @Test("A sparse file holds no space; what an earlier process left is taken over")
    func earlier() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("reserve")
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        truncate(path, off_t(Self.bytes))
        let full = Reserve(directory: directory.path, bytes: Self.bytes, freeBytes: { _ in 0 })
        #expect(!full.take() && !full.release())
        let first = Reserve(directory: directory.path, bytes: Self.bytes, freeBytes: { _ in nil })
        #expect(first.take())
        #expect(try #require(blocks(path)) >= Self.bytes)
        // On a full disk a start can release it without having taken it.
        #expect(full.release() && blocks(path) == nil)
    }

    @Test("Where a file system allocates nothing in advance, it is held while there is room")
    func unallocated() throws {
        let directory = try TemporaryDirectory()
        let disk = Disk()
        // As ZFS does.
        let reserve = Reserve(
            directory: directory.path,
            bytes: Self.bytes,
            freeBytes: { disk.freeBytes($0) },
            allocate: { file, bytes in ftruncate(file, off_t(bytes)) == 0 }
        )
        for _ in 0..<2 {
            #expect(reserve.take() && reserve.isHeld)
            #expect(reserve.look()?.state == .held)
        }
        disk.set(reserve.bytesNeeded - 1)
        #expect(!reserve.take() && !reserve.isHeld)
        #expect(reserve.look()?.state == .noRoom(short: 1))
        disk.set(reserve.bytesNeeded)
        #expect(reserve.take() && reserve.release() && !reserve.isHeld)
    }

    @Test("Nothing is written through a link, and a folder in its place is no reserve")
    func links() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("reserve")
        symlink(directory.path("elsewhere"), path)
        let reserve = Reserve(directory: directory.path, bytes: Self.bytes, freeBytes: { _ in nil })
        #expect(!reserve.take())
        #expect(!FileManager.default.fileExists(atPath: directory.path("elsewhere")))
        unlink(path)
        mkdir(path, 0o700)
        #expect(!reserve.take())
    }

    @Test("On a full disk a put has the reserve's room, and status warns until it is back")
    func putOnFullDisk() async throws {
        let disk = Disk()
        let temporary = try disk.store()
        let path = temporary.directory.path("cache/reserve")
        #expect(blocks(path) != nil)
        #expect(temporary.store.files.warnings == [])
        for number in 0..<4 { try await temporary.put("\(number)", .pattern(5_000)) }

        disk.set(0)
        temporary.faults.arm(1, of: "INTO entry (", with: .full)
        try await temporary.put("b", .pattern(5_000))
        #expect(temporary.faults.failures == 1)
        #expect(try await temporary.bytes("b") == .pattern(5_000))
        // It grows no more: the least recently used went for it.
        try await temporary.store.settle()
        let kept = try await temporary.ids(.used)
        #expect(kept.last == "b" && !kept.contains("0"))
        #expect(blocks(path) == nil)
        #expect(temporary.store.files.warnings.count == 1)

        // Nothing is left to give: it is refused, what is there is read, nothing is evicted.
        temporary.faults.arm(1, of: "INTO entry (", with: .full, .forGood)
        await #expect(throws: StoreError.self) { try await temporary.put("c", .pattern(5_000)) }
        try await temporary.store.maintain()
        temporary.faults.disarm()
        #expect(try await temporary.ids(.used) == kept)
        #expect(try await temporary.bytes("3") == .pattern(5_000))

        disk.set(1 << 40)
        try await temporary.store.maintain()
        #expect(temporary.store.files.warnings == [] && blocks(path) != nil)
        #expect(temporary.store.totals.budget == 512 << 20)
        try await temporary.put("c", .pattern(5_000))
        #expect(try await temporary.ids(.used) == kept + ["c"])
    }

    @Test("A large cache gives up at most a quarter for its reserve")
    func shrinking() async throws {
        let disk = Disk()
        let temporary = try disk.store()
        for number in 0..<120 { try await temporary.put("\(number)", .pattern(60_000)) }
        let before = temporary.store.totals.bytes
        disk.set(0)
        temporary.faults.arm(1, of: "INTO entry (", with: .full)
        _ = try? await temporary.put("new", .pattern(60_000))
        for _ in 0..<4 {
            try await temporary.store.maintain()
            try await temporary.store.settle()
        }
        let totals = temporary.store.totals
        #expect(totals.bytes < before && totals.bytes > before / 2)
        #expect(try await temporary.ids(.used).last == "new")
        _ = try FileAudit(temporary.cachePath)
    }

    @Test("A large cache is created again if not even an eviction can be written")
    func removed() async throws {
        let disk = Disk()
        let temporary = try disk.store()
        for number in 0..<120 { try await temporary.put("\(number)", .pattern(60_000)) }
        disk.set(0)
        temporary.faults.arm(1, with: .full, .forGood)
        await #expect(throws: StoreError.self) { try await temporary.put("new", [1]) }
        // Its space is free, though no new one can be made yet: the reads are misses.
        #expect(temporary.store.files.sizes == (0, 0))
        #expect(temporary.store.files.warnings.count == 2)
        #expect(try await temporary.bytes("3") == nil)
        #expect(!FileManager.default.fileExists(atPath: temporary.cachePath + ".aside"))
        await #expect(throws: StoreError.self) { try await temporary.put("new", [1]) }

        temporary.faults.disarm()
        disk.set(1 << 40)
        try await temporary.store.maintain()
        #expect(temporary.store.files.warnings == [])
        try await temporary.put("new", [1])
        #expect(try await temporary.bytes("new") == [1])
        _ = try FileAudit(temporary.cachePath)
    }

    @Test("Before anything else the copy that was set aside goes")
    func asideGoes() async throws {
        let temporary = try TemporaryStore()
        try await temporary.put("a", [1])
        try Data(count: 1_000).write(to: URL(filePath: temporary.cachePath + ".aside"))
        temporary.faults.arm(1, of: "INTO entry (", with: .full)
        try await temporary.put("b", [1])
        #expect(temporary.faults.failures == 1)
        #expect(!FileManager.default.fileExists(atPath: temporary.cachePath + ".aside"))
    }

    @Test("A start on a full disk has the reserves of the time before")
    func start() async throws {
        let disk = Disk()
        let temporary = try disk.store()
        let last = try await temporary.put("a", [1]).revision
        for step in ["journal_mode=WAL", "UPDATE revision_block"] {
            try await temporary.close()
            disk.set(0)
            temporary.faults.arm(1, of: step, with: .full)
            try temporary.open()
            #expect(temporary.faults.failures == 1)
            temporary.faults.disarm()
            #expect(try await temporary.bytes("a") == [1])
            #expect(try temporary.store.nextRevision() > last)
            disk.set(1 << 40)
            try await temporary.store.maintain()
            #expect(temporary.store.files.warnings == [])
            try await temporary.put("b", [1])
        }
    }

    @Test("Without room for a block of revisions what is there is read, and puts go on later")
    func noRevisions() async throws {
        let temporary = try TemporaryStore()
        let last = try await temporary.put("a", [1]).revision
        try await temporary.close()
        temporary.faults.arm(1, of: "UPDATE revision_block", with: .full, .forGood)
        try temporary.open()
        #expect(try await temporary.bytes("a") == [1])
        await #expect(throws: StoreError.self) { try await temporary.put("b", [1]) }
        temporary.faults.disarm()
        #expect(try await temporary.put("b", [1]).revision > last)
    }
}
