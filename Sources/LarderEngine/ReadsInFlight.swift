import LarderModel
import LarderStore
import LarderStrategy
import Synchronization

/// Reads of origins that are in flight, and which of their answers are out of date (P-06).
///
/// A read *departs* before its first byte leaves, and *lands* when its answer was stored or given
/// up; a write is *confirmed* when a clear answer said that it was done. An answer is
///
/// - *overtaken* if a write of the same thing was confirmed after its read had departed. It is
///   asked for again, as parts of it may be from before the write.
/// - *late* if an answer whose read departed after its own has been taken for the same row. Reads
///   that differ in their headers are in flight together, and their answers may have one id.
///
/// Invariants:
/// 1. What no read in flight departed before is forgotten.
/// 2. At most ``Limits/fencedWritesMax`` targets are remembered; a read that departed before
///    one that had to go is overtaken.
///
/// ```
///   read A      departed ────────────────────── answer: {"liked": false, "title": "new"} ── landed
///   write              sent ──── confirmed
///   stored                                      nothing of it: it is asked for again
/// ```
final class ReadsInFlight: Sendable {
    private struct State {
        /// Numbers departures and confirmations, in their order.
        var moment = 0
        /// The rows for which later reads of the same URL have been answered, by departure.
        var answered: [Int: Set<TargetName>] = [:]
        var departures: [TargetName: Set<Int>] = [:]
        /// The last confirmation for each target.
        var written: [TargetName: Int] = [:]
        /// The last confirmation that had to go while it was still of use.
        var lost = 0

        var oldest: Int { answered.keys.min() ?? .max }

        func earlier(than read: Read) -> Set<Int> {
            read.url.flatMap { departures[$0] }?.filter { $0 < read.departure } ?? []
        }

        func checkInvariants() {
            assert(written.values.allSatisfy { $0 > oldest }, "1")
            assert(written.count <= Limits.fencedWritesMax, "2")
        }
    }

    final class Read: Sendable {
        private let reads: ReadsInFlight
        fileprivate let url: TargetName?
        fileprivate let departure: Int
        // Relaxed: set before the put that it is about returns, and read after.
        private let flag = Atomic<Bool>(false)

        fileprivate init(_ reads: ReadsInFlight, _ url: TargetName?, departure: Int) {
            (self.reads, self.url, self.departure) = (reads, url, departure)
        }

        /// Whether its answer was kept out of the store, as a write has overtaken it.
        var isOvertaken: Bool { flag.load(ordering: .relaxed) }

        var fence: AnswerFence {
            AnswerFence(
                covers: { [self] scope, id in reads.hasOvertaken(self, id, in: scope) },
                keptOut: { [self] in flag.store(true, ordering: .relaxed) }
            )
        }
    }

    private let state = Mutex(State())

    /// To be called before the first byte leaves.
    func departed(_ url: EntryID?, in scope: ScopeKey) -> Read {
        let name = url.map { TargetName(scope, $0) }
        return state.withLock { state in
            state.moment += 1
            state.answered[state.moment] = []
            if let name { state.departures[name, default: []].insert(state.moment) }
            return Read(self, name, departure: state.moment)
        }
    }

    func landed(_ read: Read) {
        state.withLock { state in
            state.answered[read.departure] = nil
            if let url = read.url {
                state.departures[url]?.remove(read.departure)
                if state.departures[url]?.isEmpty == true { state.departures[url] = nil }
            }
            guard !state.written.isEmpty else { return }
            let oldest = state.oldest
            // While an earlier one is under way all of it is of use.
            guard oldest > read.departure else { return }
            state.written = state.written.filter { $0.value > oldest }
            state.checkInvariants()
        }
    }

    /// To be called before what the write made is stored.
    func writeConfirmed(_ id: EntryID, in scope: ScopeKey) {
        state.withLock { state in
            guard !state.answered.isEmpty else { return }
            state.moment += 1
            state.written[TargetName(scope, id)] = state.moment
            if state.written.count > Limits.fencedWritesMax {
                // All of them, so that this is rare.
                state.lost = state.moment
                state.written = [:]
            }
            state.checkInvariants()
        }
    }

    private func hasOvertaken(_ read: Read, _ id: EntryID, in scope: ScopeKey) -> Bool {
        let ids = [id] + (Variants.url(of: id).map { [$0] } ?? [])
        return state.withLock { state in
            read.departure < state.lost
                || ids.contains { (state.written[TargetName(scope, $0)] ?? 0) > read.departure }
        }
    }

    /// The answer of a read is about to be stored for a row; false if it is late.
    func takesAnswer(of read: Read, for id: EntryID, in scope: ScopeKey) -> Bool {
        let row = TargetName(scope, id)
        return state.withLock { state in
            guard state.answered[read.departure]?.contains(row) != true else { return false }
            for earlier in state.earlier(than: read) { state.answered[earlier]?.insert(row) }
            return true
        }
    }

    /// The answer that was taken could not be stored: it makes no other late.
    func answerNotStored(of read: Read, for id: EntryID, in scope: ScopeKey) {
        let row = TargetName(scope, id)
        state.withLock { state in
            for earlier in state.earlier(than: read) { state.answered[earlier]?.remove(row) }
        }
    }
}
