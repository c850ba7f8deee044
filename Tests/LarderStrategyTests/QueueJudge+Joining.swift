import LarderModel
import LarderStrategy

/// The rules of modifiers that one request makes (case 17).
extension QueueJudge {
    /// The modifiers that are joined to one, as the machine has to know them.
    func members(of first: ModifierNumber) -> [ModifierNumber] {
        live.filter { rows[$0]?.joinedTo == first }
    }

    /// The modifiers that a store has as joined to one.
    func stored(with first: ModifierNumber) -> [ModifierNumber] {
        live.filter { rows[$0]?.record.joinedInto == first }
    }

    /// The modifiers that have to be joined to one that is about to be sent.
    ///
    /// This goes through all in the order of their numbers, and closes each lane of the first at
    /// the first one there that cannot be joined.
    func followers(of first: ModifierNumber) -> [ModifierNumber] {
        guard let row = rows[first], row.record.mayLead, !row.record.mayHaveLeft,
            !row.record.isPerhapsApplied
        else { return [] }
        var open = row.lanes
        var group = [first]
        for number in live where number > first && group.count < Limits.joinedModifiersMax {
            guard let next = rows[number], next.isTold, next.lanes & row.lanes != 0,
                next.record.state != .accepted
            else { continue }
            if mayFollow(next, row, open, group) {
                group.append(number)
            } else {
                open &= ~next.lanes
            }
        }
        while group.count > 1, group.contains(where: { hasChild($0, outside: group) }) {
            group.removeLast()
        }
        return Array(group.dropFirst())
    }

    private func mayFollow(
        _ row: Row,
        _ first: Row,
        _ open: UInt64,
        _ group: [ModifierNumber]
    ) -> Bool {
        row.record.mayFollow && !row.record.mayHaveLeft && !row.record.isPerhapsApplied
            && row.record.state == .queued && row.step == nil && row.joinedTo == nil
            && party(row) == party(first) && row.lanes & ~open == 0
            && unmet(row).allSatisfy(group.contains)
    }

    private func hasChild(_ parent: ModifierNumber, outside group: [ModifierNumber]) -> Bool {
        live.contains { number in
            guard let row = rows[number], row.isTold, !group.contains(number) else { return false }
            return row.record.dependsOn.contains(parent)
        }
    }

    mutating func join(_ members: [ModifierNumber], to first: ModifierNumber) {
        for member in members { rows[member]?.joinedTo = first }
    }

    /// A group is taken apart; `isDenied`: an answer has denied that it was applied.
    mutating func part(_ first: ModifierNumber, isDenied: Bool = false) {
        let members = members(of: first)
        guard !members.isEmpty else { return }
        if !isDenied, rows[first]?.record.isPerhapsApplied == true {
            complain("\(first): taken apart, and it may have been applied")
        }
        for member in members { rows[member]?.joinedTo = nil }
    }

    /// The send step of a group is committed, with these of the others.
    mutating func regroup(_ members: [ModifierNumber], with first: ModifierNumber) {
        guard members != self.members(of: first) else { return }
        part(first)
        join(members, to: first)
    }
}

/// The requests that an origin has got and made true, by their keys.
///
/// The origin honours keys: it does a repeat once.
struct QueueLedger {
    struct Key: Hashable {
        let first: ModifierNumber
        let round: Int
    }

    private var writes: [Key: [ModifierNumber]] = [:]
    private var done: [ModifierNumber: Set<Key>] = [:]
    private(set) var complaints: [String] = []

    func isDone(_ key: Key) -> Bool { done[key.first]?.contains(key) ?? false }

    /// Bytes of a request may have left.
    mutating func left(_ key: Key, _ group: [ModifierNumber], isDone: Bool) {
        if let known = writes[key], known != group {
            complaints.append("\(key): sent again with \(group), not \(known)")
        }
        writes[key] = group
        guard isDone else { return }
        for number in group {
            done[number, default: []].insert(key)
            if done[number]?.count != 1 { complaints.append("\(number): done twice") }
        }
    }

    mutating func settled(_ number: ModifierNumber, _ outcome: ModifierQueue.Outcome) {
        let isDone = done[number] != nil
        switch outcome {
        case .confirmed where !isDone: complaints.append("\(number): confirmed, and not done")
        case .cancelled where isDone, .failed(.refused) where isDone,
            .failed(.conflict) where isDone, .failed(.expired) where isDone,
            .failed(.parentFailed) where isDone:
            complaints.append("\(number): done, and \(outcome)")
        case .confirmed, .cancelled, .failed: break
        }
    }
}
