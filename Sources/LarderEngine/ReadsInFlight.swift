import LarderModel
import LarderStore
import LarderStrategy
import Synchronization

/// Reads of origins that are in flight, and which of their answers are out of date (P-06).
///
/// A read *departs* before its first byte leaves, and *lands* when its answer was stored or given
/// up. A write is *confirmed* when a clear answer said that it was done. An answer is
///
/// - *overtaken* if a write of the same thing was confirmed after the read departed. The engine
///   asks again, because parts of the answer may be from before the write.
/// - *late* if the same row already took the answer of a read that departed later. Reads with
///   different headers are in flight together, and their answers may have one id.
/// - *hidden* from a user if it is shared, and an own answer was stored under its id after the read
///   departed. It may be older than what the user has seen.
///
/// Invariants:
/// 1. A confirmation or a stored own row is forgotten once no read in flight departed before it.
/// 2. At most ``Limits/fencedWritesMax`` targets are remembered, and as many ids of own rows. A
///    read that departed before a dropped one is overtaken.
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
        /// The moment of the last own row under each id that may have a shared row.
        var owned: [EntryID: [ScopeKey: Int]] = [:]
        /// The last of these moments that was dropped while it was still needed.
        var lost = 0

        var oldest: Int { answered.keys.min() ?? .max }

        func earlier(than read: Read) -> Set<Int> {
            read.url.flatMap { departures[$0] }?.filter { $0 < read.departure } ?? []
        }

        func checkInvariants() {
            assert(written.values.allSatisfy { $0 > oldest }, "1")
            assert(max(written.count, owned.count) <= Limits.fencedWritesMax, "2")
        }

        /// Notes what has happened, while a read is in flight.
        mutating func note(_ event: (inout State) -> Void) {
            guard !answered.isEmpty else { return }
            moment += 1
            event(&self)
            if max(written.count, owned.count) > Limits.fencedWritesMax {
                // All of them, so that this is rare.
                (lost, written, owned) = (moment, [:], [:])
            }
            checkInvariants()
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
                hiddenFrom: { [self] id in reads.owners(of: id, since: self) },
                storesOwn: { [self] scope, id in reads.ownStored(id, in: scope) },
                keptOut: { [self] in flag.store(true, ordering: .relaxed) }
            )
        }
    }

    private let state = Mutex(State())

    /// Call this before the first byte leaves.
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
            guard !state.written.isEmpty || !state.owned.isEmpty else { return }
            let oldest = state.oldest
            // If an earlier read is in flight, it still needs all of it.
            guard oldest > read.departure else { return }
            state.written = state.written.filter { $0.value > oldest }
            state.owned = state.owned.compactMapValues { owners in
                let left = owners.filter { $0.value > oldest }
                return left.isEmpty ? nil : left
            }
            state.checkInvariants()
        }
    }

    /// Call this before the result of the write is stored.
    func writeConfirmed(_ id: EntryID, in scope: ScopeKey) {
        state.withLock { $0.note { $0.written[TargetName(scope, id)] = $0.moment } }
    }

    /// Notes that an answer was stored as an own row that hides a shared one.
    ///
    /// Notes also an answer that the user got without it being stored.
    func ownStored(_ id: EntryID, in scope: ScopeKey) {
        state.withLock { $0.note { $0.owned[id, default: [:]][scope] = $0.moment } }
    }

    private func owners(of id: EntryID, since read: Read) -> [ScopeKey] {
        state.withLock { state in
            (state.owned[id] ?? [:]).filter { $0.value > read.departure }.map(\.key)
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
