import LarderModel

/// The last numbers that left the queue without being confirmed.
///
/// There are at most ``Limits/lateFailuresMax``.
struct LateFailures: Sendable {
    private var known: Set<ModifierNumber> = []
    private var order: [ModifierNumber] = []
    private var next = 0

    func contains(_ number: ModifierNumber) -> Bool { known.contains(number) }

    mutating func insert(_ number: ModifierNumber) {
        guard known.insert(number).inserted else { return }
        if order.count < Limits.lateFailuresMax {
            order.append(number)
        } else {
            known.remove(order[next])
            order[next] = number
            next = (next + 1) % order.count
        }
    }
}
