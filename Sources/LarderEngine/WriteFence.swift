import LarderModel
import LarderStore
import Synchronization

/// What writes have changed at their origins while reads of the same targets were under way (P-06).
///
/// Terms: a read *departs* before its first byte leaves, and *lands* when its answer was stored or
/// given up; a write is *confirmed* when a clear answer said that it was done.
///
/// Invariants:
/// 1. A read that departed before a write was confirmed is overtaken by it, until it lands.
/// 2. What no read under way departed before is forgotten.
/// 3. At most ``Limits/fencedWritesMax`` targets are remembered; a read that departed before
///    one that had to go is overtaken.
///
/// ```
///   read A      departed ────────────────────── answer: {"liked": false, "title": "new"} ── landed
///   write              sent ──── confirmed
///   stored                                      nothing of it: it is asked for anew
/// ```
final class WriteFence: Sendable {
    private struct State {
        var confirmations = 0
        /// The number of the last one that had to go while it was still of use.
        var lost = 0
        /// The number of each target's last one.
        var remembered: [TargetName: Int] = [:]
        /// How many reads under way have departed at each moment, in confirmations.
        var airborne: [Int: Int] = [:]

        func checkInvariants() {
            let oldest = airborne.keys.min() ?? .max
            assert(airborne.values.allSatisfy { $0 > 0 })
            assert(remembered.values.allSatisfy { $0 > oldest }, "2")
            assert(remembered.count <= Limits.fencedWritesMax, "3")
        }
    }

    private let state = Mutex(State())

    func readDeparted() -> Overtaking {
        let departure = state.withLock { state in
            state.airborne[state.confirmations, default: 0] += 1
            return state.confirmations
        }
        return Overtaking(self, since: departure)
    }

    func readLanded(_ read: Overtaking) {
        state.withLock { state in
            let left = state.airborne[read.departure, default: 1] - 1
            state.airborne[read.departure] = left == 0 ? nil : left
            guard left == 0 else { return }
            let oldest = state.airborne.keys.min() ?? .max
            // While an earlier one is under way all of it is of use.
            guard oldest > read.departure else { return }
            state.remembered = state.remembered.filter { $0.value > oldest }
            state.checkInvariants()
        }
    }

    /// To be called before what the write made is stored.
    func writeConfirmed(_ id: EntryID, in scope: ScopeKey) {
        state.withLock { state in
            guard !state.airborne.isEmpty else { return }
            state.confirmations += 1
            state.remembered[TargetName(scope, id)] = state.confirmations
            if state.remembered.count > Limits.fencedWritesMax {
                // All of them, so that this is seldom.
                state.lost = state.confirmations
                state.remembered = [:]
            }
            state.checkInvariants()
        }
    }

    fileprivate func isOvertaken(_ id: EntryID, in scope: ScopeKey, since departure: Int) -> Bool {
        let ids = [id] + (Variants.url(of: id).map { [$0] } ?? [])
        return state.withLock { state in
            departure < state.lost
                || ids.contains { (state.remembered[TargetName(scope, $0)] ?? 0) > departure }
        }
    }
}

/// Keeps an answer out of the store that a write of the same thing has overtaken (P-06).
///
/// Such an answer is asked for anew: what of it is from after the write, nobody can tell.
final class Overtaking: Sendable {
    private let writes: WriteFence
    /// The moment when the read set out, in confirmations.
    fileprivate let departure: Int
    // Relaxed: set before the put that it is about returns, and read after.
    private let flag = Atomic<Bool>(false)

    fileprivate init(_ writes: WriteFence, since departure: Int) {
        self.writes = writes
        self.departure = departure
    }

    var hasHappened: Bool { flag.load(ordering: .relaxed) }

    var fence: AnswerFence {
        AnswerFence(
            covers: { [writes, departure] scope, id in
                writes.isOvertaken(id, in: scope, since: departure)
            },
            keptOut: { [self] in flag.store(true, ordering: .relaxed) }
        )
    }
}
