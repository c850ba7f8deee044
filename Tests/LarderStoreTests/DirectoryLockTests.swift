import Foundation
import Glibc
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("The lock of a folder", .timeLimit(.minutes(5)))
struct DirectoryLockTests {
    @Test("A second one is refused, and closes no descriptor but its own")
    func refusal() async throws {
        let folder = try TemporaryDirectory()
        try folder.write("other", [1])
        let (path, other) = (folder.path("locked"), folder.path("other"))
        let lock = try DirectoryLock(directory: path)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for _ in 0..<5_000 {
                    #expect(throws: StoreError.inUse(path: path)) {
                        try DirectoryLock(directory: path)
                    }
                }
            }
            group.addTask {
                var whole = stat()
                try #require(stat(other, &whole) == 0)
                for _ in 0..<20_000 {
                    let descriptor = open(other, O_RDONLY | O_CLOEXEC)
                    var opened = stat()
                    #expect(fstat(descriptor, &opened) == 0 && opened.st_ino == whole.st_ino)
                    #expect(close(descriptor) == 0)
                }
            }
            try await group.waitForAll()
        }
        #expect(lock.isInPlace)
    }

    @Test("A released lock is free, whatever process starts in that moment")
    func beginningProcesses() async throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("locked")
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for _ in 0..<100 {
                    let program = Process()
                    program.executableURL = URL(filePath: "/bin/true")
                    try program.run()
                    program.waitUntilExit()
                }
            }
            group.addTask {
                for _ in 0..<50_000 { _ = try DirectoryLock(directory: path) }
            }
            try await group.waitForAll()
        }
    }
}
