import DequeModule
import LarderModel

/// Which revisions are given and not yet done with, and what is held back until those below are.
///
/// A number is *open* from when it is given until its step is committed or given up; then it is
/// *closed*. Two writers finish out of order, so a step's changes are *released* once every lower
/// number is closed:
///
///     given ──opened──▶ open ──closed──▶ closed ──(all below closed)──▶ released
///
/// Invariants:
/// 1. The numbers above ``released`` up to ``last`` have a slot each, in order.
/// 2. The first slot is open: what is closed with nothing open below it is released.
/// 3. Changes stand in the slot of their own number, in the order in which they were made, and are
///    released once, in the order of their numbers.
struct RevisionSequencer {
    struct Slot {
        var isOpen = true
        var changes: [Change] = []
        /// Whether these are all that it has changed.
        var isWhole = true
    }

    /// Every number up to this one is committed or given up.
    private(set) var released: Revision
    private(set) var slots = Deque<Slot>()

    /// Numbers up to `last` were given, and are done with.
    init(after last: Revision) {
        released = last
    }

    /// The last number that was given.
    var last: Revision { Revision(released.number + Int64(slots.count)) }

    /// The next number is given.
    mutating func opened() -> Revision {
        slots.append(Slot())
        return last
    }

    /// Steps that are not closed yet have changed something; it is told when they are released.
    ///
    /// What both writers have changed in one step is told once.
    mutating func changed(_ changes: [Change]) {
        var known: [Int: [Name: Int]] = [:]
        for change in changes {
            let slot = index(of: change.revision)
            let names = known[slot] ?? names(in: slot)
            known[slot] = names
            if case .put(let id, let cause) = change.event,
                let place = names[Name(scope: change.scope, id: id)]
            {
                slots[slot].changes[place].add(changed: cause.changed)
            } else {
                slots[slot].changes.append(change)
            }
        }
    }

    private struct Name: Hashable {
        let scope: Scope
        let id: EntryID
    }

    /// Where the puts stand that a slot has.
    private func names(in slot: Int) -> [Name: Int] {
        var names: [Name: Int] = [:]
        for (place, change) in slots[slot].changes.enumerated() {
            guard case .put(let id, _) = change.event else { continue }
            names[Name(scope: change.scope, id: id)] = place
        }
        return names
    }

    /// A step that is not closed yet has changed more than is told.
    mutating func isNotWhole(_ revision: Revision) {
        slots[index(of: revision)].isWhole = false
    }

    /// What steps that were released have changed.
    struct Release {
        var changes: [Change] = []
        /// Whether these are all: else they stand in the log only.
        var isWhole = true
    }

    /// A step is committed, or given up; what is released by it.
    ///
    /// `areAll` says whether what it has changed was all told.
    mutating func closed(_ revisions: [Revision], areAll: Bool = true) -> Release {
        for revision in revisions {
            let index = index(of: revision)
            slots[index].isOpen = false
            slots[index].isWhole = slots[index].isWhole && areAll
        }
        var release = Release()
        while let first = slots.first, !first.isOpen {
            release.changes += first.changes
            release.isWhole = release.isWhole && first.isWhole
            slots.removeFirst()
            released = Revision(released.number + 1)
        }
        return release
    }

    private func index(of revision: Revision) -> Int {
        let index = Int(revision.number - released.number) - 1
        precondition(slots.indices.contains(index) && slots[index].isOpen, "it is open")
        return index
    }
}
