import LarderModel

extension RevisionSequencer {
    /// Stops where an invariant of the type's comment is broken.
    func checkInvariants() {
        precondition(last.number == released.number + Int64(slots.count))
        precondition(slots.first?.isOpen ?? true)
        for (index, slot) in slots.enumerated() {
            let number = released.number + 1 + Int64(index)
            precondition(slot.changes.allSatisfy { $0.revision.number == number })
        }
    }
}
