import Dispatch
import Glibc
import LarderModel
import Synchronization

/// Keeps a copy of `state.db` beside it, taken anew from time to time with `VACUUM INTO`
/// (https://sqlite.org/lang_vacuum.html#vacuuminto): what is worth most here has no other.
///
/// It is for people, and nothing is read from it: what it has waiting may have been sent since. It
/// is written on a thread of its own through a connection of its own, so that neither a write nor a
/// read waits for it, and takes the place of the one before when it is whole and synced.
final class StateSnapshots: Sendable {
    private struct State {
        var isBusy = false
        var triedAt: Timestamp?
    }

    private let configuration: StoreConfiguration
    private let file: DatabaseFile
    private let reserve: Reserve
    /// Told what went wrong.
    private let found: Findings
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "larder.snapshots", qos: .utility)

    init(
        _ configuration: StoreConfiguration,
        _ file: DatabaseFile,
        _ reserve: Reserve,
        _ found: Findings
    ) {
        self.configuration = configuration
        self.file = file
        self.reserve = reserve
        self.found = found
    }

    /// Begins to take one if the last is old and something has changed since.
    func takeIfDue(now: Timestamp) {
        guard let age = configuration.snapshotAge, isDue(now, age) else { return }
        let isMine = state.withLock { state in
            if state.isBusy { return false }
            if let tried = state.triedAt, now.since(tried) < Limits.snapshotRetryTime {
                return false
            }
            state.isBusy = true
            state.triedAt = now
            return true
        }
        guard isMine else { return }
        queue.async { [self] in
            take()
            state.withLock { $0.isBusy = false }
        }
    }

    /// Blocks the calling thread until none is being taken.
    func wait() {
        queue.sync {}
    }

    private func isDue(_ now: Timestamp, _ age: Duration) -> Bool {
        guard let last = FileTime.changed(file.snapshotPath) else { return true }
        // One of the future comes of a clock that was set back.
        guard now.since(last) >= age || last > now else { return false }
        return [file.path, file.path + "-wal"].contains { path in
            FileTime.changed(path).map { $0 > last } ?? false
        }
    }

    /// Whether so many bytes may be written, and there is room for more than them.
    private func hasRoom(_ bytes: Int64) -> Bool {
        // While it is not there, what space comes free is for it.
        guard reserve.isHeld else { return false }
        // What cannot be told is no reason to have none.
        guard let free = configuration.freeBytes(configuration.stateDirectory) else { return true }
        return free - bytes >= max(configuration.minFreeBytes.bytes, Limits.stateSpaceMin)
    }

    private func take() {
        let size = DiskSpace.fileBytes(at: file.path) + DiskSpace.fileBytes(at: file.path + "-wal")
        guard hasRoom(size) else { return }
        do throws(StoreError) {
            try file.copy(try file.openSource(), to: file.snapshotPath)
        } catch {
            found.tell("no copy of \(file.path) was taken: \(error.message)")
        }
    }
}

/// When a file was changed last, by the kernel's word.
enum FileTime {
    /// Nil where there is none.
    static func changed(_ path: String) -> Timestamp? {
        var answer = stat()
        guard stat(path, &answer) == 0 else { return nil }
        let time = answer.st_mtim
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
