import LarderModel
import LarderStore
import Synchronization

/// Which of several requests for one URL that are in flight together started last.
///
/// Requests that differ in their headers are in flight side by side, and their answers may be
/// stored under one id. An answer is late if an answer whose request started after its own has been
/// taken for the same row: it must not replace that one, whichever arrives last.
///
/// Invariant: what is remembered belongs to a request in flight, so there is as much as there are
/// of these, with at most the variants of one URL each.
final class ReadOrder: Sendable {
    struct Read: Hashable, Sendable {
        fileprivate let place: TargetName
        fileprivate let number: Int
    }

    private struct State {
        var count = 0
        /// Requests in flight for each URL, with the rows that later ones have been answered for.
        var reads: [TargetName: [Int: Set<TargetName>]] = [:]
    }

    private let state = Mutex(State())

    /// A request starts: to be called before its first byte leaves.
    func readStarted(_ id: EntryID, in scope: ScopeKey) -> Read {
        state.withLock { state in
            state.count += 1
            let place = TargetName(scope, id)
            state.reads[place, default: [:]][state.count] = []
            return Read(place: place, number: state.count)
        }
    }

    /// The answer of a request is about to be stored for a row; false if it is late.
    func takesAnswer(of read: Read, for id: EntryID, in scope: ScopeKey) -> Bool {
        let row = TargetName(scope, id)
        return state.withLock { state in
            guard var reads = state.reads[read.place] else { return true }
            if reads[read.number]?.contains(row) == true { return false }
            guard reads.count > 1 else { return true }
            for number in reads.keys where number < read.number { reads[number]?.insert(row) }
            state.reads[read.place] = reads
            return true
        }
    }

    /// The answer that was taken could not be stored: it makes no other late.
    func answerNotStored(of read: Read, for id: EntryID, in scope: ScopeKey) {
        let row = TargetName(scope, id)
        state.withLock { state in
            guard var reads = state.reads[read.place] else { return }
            for number in reads.keys where number < read.number { reads[number]?.remove(row) }
            state.reads[read.place] = reads
        }
    }

    func readEnded(_ read: Read) {
        state.withLock { state in
            state.reads[read.place]?[read.number] = nil
            if state.reads[read.place]?.isEmpty == true { state.reads[read.place] = nil }
        }
    }
}
