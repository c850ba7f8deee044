import CSQLite
import Dispatch
import Glibc
package import LarderModel
import Synchronization

package struct StoreFiles: Sendable {
    let store: Store
    private var configuration: StoreConfiguration { store.configuration }
    private var cache: DatabaseFile { store.database }
    private var state: StateFile { store.stateFile }
    private var shared: SharedCacheState { store.shared }
    private var found: Findings { shared.findings }
    private var cacheReserve: Reserve { shared.reserves.cache }
    private var stateReserve: Reserve { shared.reserves.state }

    package var lengths: [(name: String, bytes: Int64, walBytes: Int64)] {
        databaseFiles.map { file in
            (
                file.name, DiskSpace.fileBytes(at: file.path),
                DiskSpace.fileBytes(at: file.path + "-wal")
            )
        }
    }

    package var sizes: (database: Int64, wal: Int64) { (lengths[0].bytes, lengths[0].walBytes) }

    package var diskFreeBytes: Int64? { configuration.freeBytes(configuration.cacheDirectory) }
    package var minFreeBytes: Int64 { configuration.minFreeBytes.bytes }

    /// Has SQLite check the structure of both files, off the event loops, until `over` returns.
    package func check(
        until over: @escaping @Sendable () async -> Void
    ) async throws(StoreError) -> [FileFinding] {
        try await store.examiner.check(databaseFiles, until: over)
    }

    package var asideSets: [QuarantinedFiles] { state.file.asideSets }

    package var rights: [FileRights] {
        let directories = [configuration.cacheDirectory, configuration.stateDirectory].unique
        return IntegrityChecker.rights(directories, databaseFiles)
    }

    package var reserves: [ReserveFinding] {
        let isOne = stateReserve === cacheReserve
        return (isOne ? [cacheReserve] : [cacheReserve, stateReserve]).compactMap { $0.look() }
    }

    /// When the bytes of the row that was stored last were given; nil in an empty cache.
    package func latestStoredAt() async throws(StoreError) -> Timestamp? {
        try await store.read { reader throws(StoreError) in
            try reader.cache.reading { file throws(StoreError) in
                try file.connection.statement("SELECT max(stored_at) FROM recency").first {
                    $0.integerOrNil(.only).map(Timestamp.init(milliseconds:))
                }
            } ?? nil
        }
    }

    package var findings: [String] { found.recent }

    package func takeNews() -> [FileNews] {
        let evicted = found.takeEvictions(of: shared.totals.diskEvictions)
        if evicted > 0 {
            let disk = "the disk of \(configuration.cacheDirectory) is short of space"
            found.tell("\(evicted) entries were evicted, as \(disk)")
        }
        return found.takeUntold()
    }

    var areWell: Bool {
        shared.generation.hasFile && cacheReserve.isHeld && stateReserve.isHeld
            && shared.totals.budget == configuration.maxBytes.bytes
    }

    package var warnings: [String] {
        var warnings: [String] = []
        if !shared.generation.hasFile {
            warnings.append("\(cache.path) cannot be used: \(shared.absence.message)")
        }
        if !cacheReserve.isHeld {
            warnings.append(
                "the disk of \(configuration.cacheDirectory) is full or nearly so: "
                    + "there is no room for the reserve, little or nothing new is stored"
            )
        }
        if stateReserve.isHeld {
            let left = DiskSpace.freeBytes(at: configuration.stateDirectory) ?? .max
            if left < Limits.stateSpaceMin {
                warnings.append(
                    "the disk of \(configuration.stateDirectory) has \(left) bytes left: nothing "
                        + "new is kept permanently or accepted until there is space"
                )
            }
        } else if stateReserve !== cacheReserve {
            warnings.append(
                "the disk of \(configuration.stateDirectory) is full or nearly so: "
                    + "there is no room for the reserve, nothing new is kept permanently"
            )
        }
        if let warning = state.damageWarning { warnings.append(warning) }
        return warnings
    }

    private var databaseFiles: [DatabaseFile] { [cache, state.file] }
}

package struct FileNews: Equatable, Sendable {
    package let sentence: String
    /// False for an allowed act of a person, and for a repaired fault.
    package let isWarning: Bool
    /// The SQL that failed, which is for the log only.
    package var statement: String?
}

/// Reports of faults in the files and of their repair: the last few sentences.
final class Findings: Sendable {
    private struct Kept {
        var recent: [String] = []
        var untold: [FileNews] = []
        var toldEvictions: Int64 = 0
    }

    private let kept = Mutex(Kept())

    func add(_ sentence: String, statement: String? = nil) {
        tell(sentence, statement: statement)
        kept.withLock { $0.recent = ($0.recent + [sentence]).suffix(Limits.findingsMax) }
    }

    /// Remembers something for the log only, as status tells it otherwise.
    func tell(_ sentence: String, isWarning: Bool = true, statement: String? = nil) {
        let updates = FileNews(sentence: sentence, isWarning: isWarning, statement: statement)
        kept.withLock { $0.untold = ($0.untold + [updates]).suffix(Limits.findingsMax) }
    }

    func takeEvictions(of count: Int64) -> Int64 {
        kept.withLock { count - exchange(&$0.toldEvictions, with: count) }
    }

    var recent: [String] { kept.withLock { $0.recent } }

    func takeUntold() -> [FileNews] { kept.withLock { exchange(&$0.untold, with: []) } }
}

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
