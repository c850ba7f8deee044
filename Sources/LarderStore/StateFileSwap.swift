import Dispatch
import Glibc
import LarderModel
import Synchronization

/// Puts the salvage of a damaged `state.db` in its place.
///
/// Each step is one call of the kernel. If the process ends between two steps, its next start goes
/// on before it opens any file. Before step 1 `state.db.new` may be incomplete, so it is not used.
///
/// | step | files after it | the next start |
/// |---|---|---|
/// | the salvage is written | the damaged file, `state.db.new` | salvages again |
/// | 1 `.new` → `.salvaged.N`, synced | both files whole | goes on with 2 |
/// | 2 `-wal` → `.aside.N-wal` | the damaged file without its WAL, not to be opened | goes on |
/// | 3 `.snapshot` → `.aside.N.snapshot` | the same | goes on |
/// | 4 `state.db` → `.aside.N`, synced | the new file alone, under its old name | goes on with 5 |
/// | 5 `.salvaged.N` → `state.db`, synced | the new file | is an ordinary one |
///
/// So a new file never has an old WAL, and an old file is never opened without its own. N was free
/// when it was chosen and is kept in the name, so nothing that was set aside is overwritten.
struct StateFileSwap {
    private let file: DatabaseFile
    private let number: Int

    private var salvagedPath: String { "\(file.path).salvaged.\(number)" }
    var asidePath: String { file.asidePath(number) }
    var snapshotPath: String { asidePath + ".snapshot" }

    static func finish(_ file: DatabaseFile) throws(StoreError) {
        let start = file.name + ".salvaged."
        let numbers = file.folder.names.compactMap { name in
            name.hasPrefix(start) ? Int(name.dropFirst(start.count)) : nil
        }
        guard let number = numbers.max() else { return }
        try StateFileSwap(file: file, number: number).run()
    }

    init(of file: DatabaseFile, by new: String) throws(StoreError) {
        self.init(file: file, number: file.nextAsideNumber)
        guard DiskSpace.fileBytes(at: new + "-wal") == 0 else {
            throw .cannotOpen(path: new, reason: "its WAL was not written back")
        }
        for suffix in ["-wal", "-shm"] { unlink(new + suffix) }
        try move(new, to: salvagedPath)
        try syncFolder()
        try run()
    }

    private init(file: DatabaseFile, number: Int) {
        (self.file, self.number) = (file, number)
    }

    private func run() throws(StoreError) {
        try move(file.path + "-wal", to: asidePath + "-wal")
        // SQLite makes the index of a WAL again when it opens the WAL.
        unlink(file.path + "-shm")
        try move(file.snapshotPath, to: snapshotPath)
        try move(file.path, to: asidePath)
        try syncFolder()
        try move(salvagedPath, to: file.path)
        try syncFolder()
    }

    /// Renames a file; does nothing if it is missing, for example because it was moved already.
    private func move(_ path: String, to place: String) throws(StoreError) {
        try file.check(before: "rename \(path)")
        guard !path.isThere || rename(path, place) == 0 else { throw .system(path) }
    }

    private func syncFolder() throws(StoreError) {
        try file.check(before: "sync \(file.folder)")
        guard file.sync(file.folder) else { throw .system(file.folder) }
    }
}

/// A damaged `state.db` that was set aside, with its WAL and its copy: kept until a person removes
/// it.
package struct QuarantinedFiles: Equatable, Sendable {
    package let paths: [String]
    package let bytes: Int64

    package var removal: String { "rm " + paths.map { "'\($0)'" }.joined(separator: " ") }

    package var sentence: String {
        let files = paths.count == 1 ? "one file" : "\(paths.count) files"
        return "\(paths[0]) (\(bytes) bytes in \(files)) is a damaged state.db that was set aside, "
            + "for who looks for what could not be read of it; it may have credentials"
    }
}

extension DatabaseFile {
    /// Path of the n-th file that was set aside; its WAL has `-wal` after that.
    func asidePath(_ number: Int) -> String {
        number == 1 ? path + ".aside" : path + ".aside.\(number)"
    }

    var asideSets: [QuarantinedFiles] {
        let named = asideNames
        return Set(named.map(\.number)).sorted().map { number in
            let paths = named.filter { $0.number == number }.map { folder + "/" + $0.name }.sorted()
            let bytes = paths.reduce(0) { $0 + DiskSpace.fileBytes(at: $1) }
            return QuarantinedFiles(paths: paths, bytes: bytes)
        }
    }

    var nextAsideNumber: Int { (asideNames.map(\.number).max() ?? 0) + 1 }

    private var asideNames: [(name: String, number: Int)] {
        let start = name + ".aside"
        return folder.names.compactMap { name in
            guard name.hasPrefix(start) else { return nil }
            let rest = name.dropFirst(start.count)
            guard rest.hasPrefix(".") else { return (name, 1) }
            // `.2`, `.2-wal`, `.2.snapshot`; that of the first is `.snapshot`.
            return (name, Int32(rest.dropFirst().prefix { $0.isNumber }).map(Int.init) ?? 1)
        }
    }
}

/// Keeps a copy of `state.db` in its folder, taken from time to time with `VACUUM INTO`
/// (https://sqlite.org/lang_vacuum.html#vacuuminto).
///
/// The copy is for operators and has no credentials. The daemon reads nothing from it, because
/// modifiers that wait in it may have been sent since. A thread and a connection of its own write
/// the copy, so no command waits for it. The copy replaces the last one when it is whole and synced.
final class StateSnapshots: Sendable {
    private struct State {
        var isBusy = false
        var triedAt: Timestamp?
    }

    let shared: SharedCacheState
    private let file: DatabaseFile
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "larder.snapshots", qos: .utility)

    init(_ shared: SharedCacheState, _ file: DatabaseFile) {
        (self.shared, self.file) = (shared, file)
    }

    func takeIfDue(now: Timestamp) {
        guard let age = shared.configuration.snapshotAge, isDue(now, age) else { return }
        let isMine = state.withLock { state in
            let isRecent = state.triedAt.map { now.since($0) < Limits.snapshotRetryTime } ?? false
            if state.isBusy || isRecent { return false }
            state = State(isBusy: true, triedAt: now)
            return true
        }
        guard isMine else { return }
        queue.async { [self] in
            take()
            state.withLock { $0.isBusy = false }
        }
    }

    func wait() { queue.sync {} }

    private func isDue(_ now: Timestamp, _ age: Duration) -> Bool {
        guard let last = FileTime.changed(file.snapshotPath) else { return true }
        // After a clock is set back, the last snapshot may be in the future.
        guard now.since(last) >= age || last > now else { return false }
        return [file.path, file.path + "-wal"].contains { path in
            FileTime.changed(path).map { $0 >= last } ?? false
        }
    }

    private func take() {
        // While the reserve is not held, space that becomes free is for it. An unknown amount of
        // space is no reason to take none.
        let configuration = shared.configuration
        let free = configuration.freeBytes(configuration.stateDirectory) ?? .max
        let wanted = max(configuration.minFreeBytes.bytes, Limits.stateSpaceMin)
        guard shared.reserves.state.isHeld, free - file.bytes >= wanted else { return }
        do throws(StoreError) {
            try file.copy(try file.connect(.readOnly), to: file.snapshotPath)
        } catch {
            shared.findings.tell("no copy of \(file.path) was taken: \(error.message)")
        }
    }
}

enum FileTime {
    static func changed(_ path: String) -> Timestamp? {
        var answer = stat()
        guard stat(path, &answer) == 0 else { return nil }
        let time = answer.st_mtim
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
