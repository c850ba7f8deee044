package import LarderModel
import Synchronization

/// Changes of the writer in revision order, for the task that notifies watchers; guarded by a lock.
///
/// A revision is *open* from when the writer assigns it to a step until the step's group is
/// committed or given up. The changes of a group are *published* together, when every reader of
/// either file sees them. While no client watches, the feed keeps nothing: the logs have the
/// changes.
package final class ChangeFeed: Sendable {
    package struct Batch: Sendable {
        package var changes: [Change]
        /// Everything up to it was handed out, with this batch or before.
        package var published: Revision
        /// Whether changes before this batch were lost, so that watchers have missed them.
        package var isCut: Bool
    }

    private struct State {
        var last = Revision(0)
        var firstOpen: Revision?
        var changed: [Change] = []
        /// Whether `changed` has every change of the open steps; otherwise the rest is in the log
        /// only.
        var isWhole = true
        var ready: [Change] = []
        var isWatched = false
        var isCut = false
        var tell: @Sendable () -> Void = {}
        /// From which revision on each file's log is whole.
        var starts: [BodyFile: Revision] = [:]

        var published: Revision { firstOpen.map { Revision($0.number - 1) } ?? last }

        mutating func empty(isWatched: Bool) {
            (ready, isCut, self.isWatched) = ([], false, isWatched)
        }
    }

    private let state = Mutex(State())

    func begin(after last: Revision) { state.withLock { $0.last = last } }

    func next(isStep: Bool) -> Revision {
        state.withLock { state in
            state.last = Revision(state.last.number + 1)
            if isStep, state.firstOpen == nil { state.firstOpen = state.last }
            return state.last
        }
    }

    func changed(_ changes: [Change]) {
        guard !changes.isEmpty else { return }
        state.withLock { $0.changed += changes }
    }

    /// Notes that `changed` lacks changes of open steps: watchers have to read the log instead.
    func isNotWhole() { state.withLock { $0.isWhole = false } }

    func close() {
        let tell = state.withLock { state -> (@Sendable () -> Void)? in
            guard state.firstOpen != nil else { return nil }
            let (changes, isWhole) = (state.changed, state.isWhole)
            (state.firstOpen, state.changed, state.isWhole) = (nil, [], true)
            guard state.isWatched, !changes.isEmpty || !isWhole else { return nil }
            let isFirst = state.ready.isEmpty
            state.ready += changes.inOrder
            if !isWhole { state.isCut = true }
            if state.ready.count > Limits.changesReadyMax {
                state.ready = []
                state.isCut = true
            }
            return isFirst ? state.tell : nil
        }
        tell?()
    }

    func cut() {
        let tell = state.withLock { state -> (@Sendable () -> Void)? in
            guard state.isWatched else { return nil }
            state.isCut = true
            return state.tell
        }
        tell?()
    }

    var isWatched: Bool { state.withLock { $0.isWatched } }
    package var published: Revision { state.withLock { $0.published } }
    package var last: Revision { state.withLock { $0.last } }

    package func whenReleased(_ tell: @escaping @Sendable () -> Void) {
        state.withLock { $0.tell = tell }
    }

    /// Hands out published changes; the feed keeps all later ones from now on.
    package func take() -> Batch {
        state.withLock { state in
            defer { state.empty(isWatched: true) }
            return Batch(changes: state.ready, published: state.published, isCut: state.isCut)
        }
    }

    package func rest() { state.withLock { $0.empty(isWatched: false) } }

    /// A file's log has every change after this number, from the next commit on.
    func setStart(_ file: BodyFile, _ revision: Revision) {
        state.withLock { $0.starts[file] = revision }
    }

    /// The logs together have every published change after this number.
    package var start: Revision {
        state.withLock { state in state.starts.values.max() ?? Revision(0) }
    }
}

extension [Change] {
    fileprivate var inOrder: [Change] {
        var ordered: [Change] = []
        var places: [PutName: Int] = [:]
        for change in sorted(by: { $0.revision < $1.revision }) {
            guard case .put(let id, let cause) = change.event else {
                ordered.append(change)
                continue
            }
            let name = PutName(revision: change.revision, scope: change.scope, id: id)
            if let place = places[name] {
                ordered[place].add(changed: cause.changed)
            } else {
                places[name] = ordered.count
                ordered.append(change)
            }
        }
        return ordered
    }
}

private struct PutName: Hashable {
    let revision: Revision
    let scope: Scope
    let id: EntryID
}

/// Watchers of single rows.
///
/// Every change of a row is a command of the writer. A watcher hears that there is something to
/// read, not what.
///
/// Guarded by its lock. A watcher enters the table first and reads the row after that. The writer
/// commits first and reads the table after that. So one of them sees the other.
final class RowWatches: Sendable {
    fileprivate let watchers = Mutex<[RowKey: [ObjectIdentifier: @Sendable () -> Void]]>([:])

    var isEmpty: Bool { watchers.withLock { $0.isEmpty } }

    func rowsChanged(_ keys: [RowKey]) {
        guard !keys.isEmpty else { return }
        let waiting = watchers.withLock { watchers -> [@Sendable () -> Void] in
            guard !watchers.isEmpty else { return [] }
            return Set(keys).flatMap { key in watchers[key].map { Array($0.values) } ?? [] }
        }
        for tell in waiting { tell() }
    }

    func allChanged() {
        let waiting = watchers.withLock { $0.values.flatMap { Array($0.values) } }
        for tell in waiting { tell() }
    }
}

package final class RowWatch: Sendable {
    private let watches: RowWatches
    private let key: RowKey

    init(_ watches: RowWatches, _ key: RowKey, _ tell: @escaping @Sendable () -> Void) {
        (self.watches, self.key) = (watches, key)
        watches.watchers.withLock { $0[key, default: [:]][ObjectIdentifier(self)] = tell }
    }

    deinit {
        watches.watchers.withLock { watchers in
            watchers[key]?[ObjectIdentifier(self)] = nil
            if watchers[key]?.isEmpty == true { watchers[key] = nil }
        }
    }
}
