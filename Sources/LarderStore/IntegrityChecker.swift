import CSQLite
import Dispatch
import Glibc
import LarderModel
import Synchronization

package struct FileFinding: Equatable, Sendable {
    package let name: String
    /// Faults that SQLite finds, at most ``Limits/checkFindingsMax``; empty for a sound file.
    package let damage: [String]
    package let isComplete: Bool
}

package struct FileRights: Equatable, Sendable {
    package let path: String
    package let isDirectory: Bool
    package let mode: UInt32
    package let uid: UInt32
}

/// Checks files off the event loops, one check at a time.
///
/// A check keeps the WAL from being reset, so it has a bound.
final class IntegrityChecker: Sendable {
    private let queue = DispatchQueue(label: "larder.examiner")
    // Relaxed: it alone decides who checks, and orders no other memory.
    private let isBusy = Atomic(false)

    /// Checks files one after the other until `over` returns; refused while another check runs.
    func check(
        _ files: [DatabaseFile],
        until over: @escaping @Sendable () async -> Void
    ) async throws(StoreError) -> [FileFinding] {
        guard !isBusy.exchange(true, ordering: .relaxed) else { throw .overloaded }
        defer { isBusy.store(false, ordering: .relaxed) }
        let cancellation = CheckCancellation()
        return try await withTaskGroup { group -> Result<[FileFinding], StoreError> in
            group.addTask {
                await over()
                cancellation.end()
            }
            defer { group.cancelAll() }
            return await withCheckedContinuation { waiter in
                queue.async {
                    let findings = Result { () throws(StoreError) in
                        try files.map { file throws(StoreError) in
                            try Self.check(file, cancellation)
                        }
                    }
                    waiter.resume(returning: findings)
                }
            }
        }.get()
    }

    private static func check(
        _ file: DatabaseFile,
        _ cancellation: CheckCancellation
    ) throws(StoreError) -> FileFinding {
        let damage = try file.openReader(cacheBytes: Limits.checkCacheBytes)
            .quickCheck(until: cancellation)
        if let damage = damage?.first { file.mark?.set(by: damage) }
        return FileFinding(name: file.name, damage: damage ?? [], isComplete: damage != nil)
    }

    static func rights(_ directories: [String], _ files: [DatabaseFile]) -> [FileRights] {
        let paths = files.flatMap { file in DatabaseFile.suffixes.map { file.path + $0 } }
        return (directories + paths).compactMap { path in
            var answer = stat()
            guard stat(path, &answer) == 0 else { return nil }
            return FileRights(
                path: path,
                isDirectory: answer.st_mode & S_IFMT == S_IFDIR,
                mode: UInt32(answer.st_mode & 0o7777),
                uid: answer.st_uid
            )
        }
    }
}

final class CheckCancellation: Sendable {
    // A connection may be interrupted from any thread as long as it is open
    // (https://sqlite.org/c3ref/interrupt.html); the lock sees to that.
    private struct Running: @unchecked Sendable {
        var handle: OpaquePointer?
        var isFinished = false
    }

    private let running = Mutex(Running())

    var isFinished: Bool { running.withLock { $0.isFinished } }

    /// Ends what runs, and whatever begins after it.
    func end() {
        running.withLock { running in
            running.isFinished = true
            if let handle = running.handle { sqlite3_interrupt(handle) }
        }
    }

    /// Runs `work` on a connection that ``end()`` may interrupt; nil if it is over already.
    func during<Value>(
        _ connection: SQLiteConnection,
        _ work: () throws(StoreError) -> Value
    ) throws(StoreError) -> Value? {
        let mayBegin = running.withLock { running in
            if !running.isFinished { running.handle = connection.handle }
            return !running.isFinished
        }
        guard mayBegin else { return nil }
        defer { running.withLock { $0.handle = nil } }
        return try work()
    }
}
