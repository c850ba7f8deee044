import Dispatch
import Glibc
import LarderModel
import Synchronization

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
