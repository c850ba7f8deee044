import LarderJSON
import LarderModel
import LarderStore

/// What writes have changed at their origins while reads of the same targets were under way (P-06).
///
/// Terms: a read *departs* before its first byte leaves, and *lands* when its answer was stored or
/// given up; a write is *confirmed* when a clear answer said that it was done.
///
/// Invariants:
/// 1. A read that departed before a write was confirmed hears of what the write touched, until it
///    lands.
/// 2. What no read under way departed before is forgotten.
/// 3. At most ``Limits/fencedWritesMax`` confirmations are remembered; to a read that departed
///    before one that had to go, everything is touched.
///
/// ```
///   read A      departed ────────────────────── answer: {"liked": false, "title": "new"} ── landed
///   write              sent ──── confirmed(liked)
///   stored                                      {"liked": true, "title": "new"}
/// ```
struct WriteFence {
    /// The moment of a departure, in confirmations.
    struct Departure: Hashable, Comparable, Sendable {
        fileprivate let confirmations: Int

        static func < (left: Departure, right: Departure) -> Bool {
            left.confirmations < right.confirmations
        }
    }

    private struct Target: Hashable {
        let scope: ScopeKey
        let id: EntryID
    }

    private struct Confirmation {
        let number: Int
        let target: Target
        let touched: TouchedMembers
    }

    private var confirmations = 0
    /// The number of the last one that had to go while it was still of use.
    private var lost = 0
    /// In the order of their numbers.
    private var remembered: [Confirmation] = []
    /// How many reads under way have departed at each moment.
    private var airborne: [Departure: Int] = [:]

    mutating func readDeparted() -> Departure {
        let departure = Departure(confirmations: confirmations)
        airborne[departure, default: 0] += 1
        checkInvariants()
        return departure
    }

    mutating func readLanded(_ departure: Departure) {
        let left = airborne[departure, default: 1] - 1
        airborne[departure] = left == 0 ? nil : left
        guard left == 0 else { return }
        forget()
        checkInvariants()
    }

    mutating func writeConfirmed(
        _ id: EntryID,
        in scope: ScopeKey,
        touching touched: TouchedMembers
    ) {
        guard !airborne.isEmpty, touched != .nothing else { return }
        confirmations += 1
        let target = Target(scope: scope, id: id)
        remembered.append(Confirmation(number: confirmations, target: target, touched: touched))
        if remembered.count > Limits.fencedWritesMax {
            // Half of them, so that this is seldom.
            let going = remembered.prefix(Limits.fencedWritesMax / 2)
            lost = going.last?.number ?? lost
            remembered.removeFirst(going.count)
        }
        checkInvariants()
    }

    /// What of a target was written since a read departed.
    func touched(_ id: EntryID, in scope: ScopeKey, since departure: Departure) -> TouchedMembers {
        guard departure.confirmations >= lost else { return .all }
        let target = Target(scope: scope, id: id)
        return remembered.reversed().prefix { $0.number > departure.confirmations }
            .filter { $0.target == target }
            .reduce(.nothing) { $0.union($1.touched) }
    }

    private mutating func forget() {
        guard let oldest = airborne.keys.min() else { return remembered.removeAll() }
        remembered.removeFirst(remembered.prefix { $0.number <= oldest.confirmations }.count)
    }

    private func checkInvariants() {
        assert(airborne.values.allSatisfy { $0 > 0 })
        assert(airborne.isEmpty ? remembered.isEmpty : true, "2")
        assert(remembered.count <= Limits.fencedWritesMax, "3")
        assert(
            remembered.first.map { first in
                airborne.keys.contains { $0.confirmations < first.number }
            } ?? true,
            "2"
        )
    }
}
