package import LarderModel
import Synchronization

/// What the two writers have changed, in the order of the revisions, for the one who tells watchers;
/// guarded by a lock.
///
/// The writers say what they have committed, and whoever took a number says when its step is done
/// with; ``take()`` hands out what is released since the last time. While nobody watches nothing is
/// kept: it stands in the logs.
package final class ChangeFeed: Sendable {
    /// What was released since the last look.
    package struct Batch: Sendable {
        package var changes: [Change]
        /// Everything up to it was handed out, with this batch or before.
        package var released: Revision
        /// Something was lost in between: whoever watches has missed it.
        package var isCut: Bool
    }

    private struct State {
        var sequencer = RevisionSequencer(after: Revision(0))
        var ready: [Change] = []
        var isWatched = false
        var isCut = false
        var tell: @Sendable () -> Void = {}
        /// From which revision on each file's log is whole.
        var starts: [BodyFile: Revision] = [:]
    }

    private let state = Mutex(State())

    // MARK: Numbers

    /// Numbers up to `last` were given by earlier processes.
    func begin(after last: Revision) {
        state.withLock { $0.sequencer = RevisionSequencer(after: last) }
    }

    /// Gives the next number.
    func open() -> Revision {
        state.withLock { $0.sequencer.opened() }
    }

    /// Steps whose numbers are still open have changed something, and are committed.
    func changed(_ changes: [Change]) {
        guard !changes.isEmpty else { return }
        state.withLock { $0.sequencer.changed(changes) }
    }

    /// A step whose number is still open has changed more than is told: whoever watches reads the
    /// log instead.
    func isNotWhole(_ revision: Revision) {
        state.withLock { $0.sequencer.isNotWhole(revision) }
    }

    /// These numbers are done with: committed together with `changes`, or given up.
    ///
    /// Where those are not all, whoever watches reads the log instead.
    func close(_ revisions: [Revision], _ changes: [Change] = [], areAll: Bool = true) {
        guard !revisions.isEmpty else { return }
        let tell = state.withLock { state -> (@Sendable () -> Void)? in
            state.sequencer.changed(changes)
            let released = state.sequencer.closed(revisions, areAll: areAll)
            guard state.isWatched, !released.changes.isEmpty || !released.isWhole else {
                return nil
            }
            let isFirst = state.ready.isEmpty
            state.ready += released.changes
            if !released.isWhole { state.isCut = true }
            if state.ready.count > Limits.changesReadyMax {
                state.ready = []
                state.isCut = true
            }
            return isFirst ? state.tell : nil
        }
        tell?()
    }

    /// Rows were lost without a step: with their file.
    func cut() {
        let tell = state.withLock { state -> (@Sendable () -> Void)? in
            guard state.isWatched else { return nil }
            state.isCut = true
            return state.tell
        }
        tell?()
    }

    /// Whether somebody watches.
    var isWatched: Bool { state.withLock { $0.isWatched } }

    package var released: Revision { state.withLock { $0.sequencer.released } }

    /// The last number that was given.
    package var last: Revision { state.withLock { $0.sequencer.last } }

    // MARK: Watching

    /// Has `tell` called when there is something to take, on any thread.
    package func whenReleased(_ tell: @escaping @Sendable () -> Void) {
        state.withLock { $0.tell = tell }
    }

    /// Hands out what was released; from now on what comes is kept.
    package func take() -> Batch {
        state.withLock { state in
            defer {
                state.ready = []
                state.isCut = false
                state.isWatched = true
            }
            let released = state.sequencer.released
            return Batch(changes: state.ready, released: released, isCut: state.isCut)
        }
    }

    /// Nobody watches any more.
    package func rest() {
        state.withLock { state in
            state.ready = []
            state.isCut = false
            state.isWatched = false
        }
    }

    // MARK: The logs

    /// A file's log has every change after this number, from the next commit on.
    func setStart(_ file: BodyFile, _ revision: Revision) {
        state.withLock { $0.starts[file] = revision }
    }

    /// The logs together have every released change after this number.
    package var start: Revision {
        state.withLock { state in
            state.starts.values.max() ?? Revision(0)
        }
    }
}
