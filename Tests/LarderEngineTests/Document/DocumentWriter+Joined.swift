import LarderJSON
import LarderModel
import LarderTestSupport
import LarderWire
import Synchronization

import struct LarderAPI.ModifierReport

/// How often a judge has seen joined writes end.
struct JoinedCounts {
    var confirmed = 0
    var needless = 0
}

/// Checks of writes that one request has made (case 17).
extension DocumentWriter {
    /// Compares the request of each group with the changes of its writes.
    mutating func checkJoined(_ reports: [ModifierReport]) throws {
        var groups: [String: [Int]] = [:]
        for (place, report) in reports.enumerated() {
            if let first = report.joinedInto { groups[first, default: []].append(place) }
        }
        for (first, others) in groups.sorted(by: { $0.key < $1.key }) {
            guard let place = writes.firstIndex(where: { $0.id.text == first }) else {
                throw Complaint(description: "writes are joined into \(first), which nobody knows")
            }
            let group = [place] + others
            let texts = group.map { "\(writes[$0].id) \(reports[$0].state)" }
            guard reports[place].state.isSettled,
                !group.contains(where: { writes[$0].isRetried || writes[$0].isRemoved })
            else { continue }
            // A confirmed change of a shared row waits for an answer, unless a read has come before.
            let ends = group.map { place in
                reports[place].marks.contains(.answered)
                    ? .confirmed : reports[place].state
            }
            guard Set(ends).count == 1 else {
                throw Complaint(description: "joined writes have ended differently: \(texts)")
            }
            switch reports[place].state {
            case .confirmed: try checkConfirmed(group, texts)
            case .cancelled: try checkNeedless(group, texts)
            default: break
            }
        }
        for group in needless(reports) {
            try checkNeedless(group, group.map { "\(writes[$0].id) \(writes[$0].change)" })
        }
    }

    /// Groups of writes of one to-do that the daemon cancelled together and no person removed.
    private func needless(_ reports: [ModifierReport]) -> [[Int]] {
        let removed = Set(writes.filter(\.isRemoved).compactMap(changed(by:)))
        let cancelled = zip(writes, reports).filter { $1.state == .cancelled }.map(\.0)
        let neverCreated = Set(cancelled.filter(\.isCreate).compactMap(changed(by:)))
        var groups: [[String]: [Int]] = [:]
        for (place, report) in reports.enumerated() where report.state == .cancelled {
            let write = writes[place]
            // A tag that is accepted as the create is cancelled ends with it.
            if case .other = write.change, let todo = changed(by: write),
                neverCreated.contains(todo)
            {
                continue
            }
            guard !write.isRemoved, report.joinedInto == nil,
                let todo = changed(by: write), !removed.contains(todo)
            else { continue }
            let key = ["\(write.scope)", todo, report.settledAt.map { "\($0)" } ?? ""]
            groups[key, default: []].append(place)
        }
        // Edits that are accepted as their create is cancelled end with it, perhaps a moment later.
        let found = groups.values.filter { group in
            group.contains { writes[$0].isCreate }
                || changed(by: writes[group[0]]).map { !neverCreated.contains($0) } ?? true
        }
        return found.sorted { $0[0] < $1[0] }
    }

    /// The document's members after all writes of a group.
    private func outcome(
        of group: [Int]
    ) -> (members: [String: JSONValue], isCreated: Bool, isDeleted: Bool) {
        var outcome = (members: [String: JSONValue](), isCreated: false, isDeleted: false)
        for place in group {
            switch writes[place].change {
            case .creates(let members):
                (outcome.members, outcome.isCreated) = (members, true)
            case .sets(let members): outcome.members.merge(members) { $1 }
            case .deletes: outcome.isDeleted = true
            case .other: break
            }
        }
        return outcome
    }

    /// The server has done what all of them say.
    private mutating func checkConfirmed(_ group: [Int], _ texts: [String]) throws {
        joined.confirmed += 1
        let id = writes[group[0]].id.text
        let (work, isExcused) = server.state.withLock { ($0.work[id], $0.excused.contains(id)) }
        let outcome = outcome(of: group)
        guard let work else {
            // A read may have shown that another device has done the same.
            let isUnique = outcome.members["title"] != nil
            guard isUnique, !isExcused, !outcome.isDeleted else { return }
            throw Complaint(description: "the server has done none of these: \(texts)")
        }
        let isAll =
            outcome.isDeleted
            ? work.method == "DELETE"
            : outcome.members.allSatisfy { work.members[$0.key] == $0.value }
        guard !isAll else { return }
        throw Complaint(description: "of \(texts) the server has done only \(work)")
    }

    /// The server has the same without them.
    private mutating func checkNeedless(_ group: [Int], _ texts: [String]) throws {
        joined.needless += 1
        let (outcome, write) = (outcome(of: group), writes[group[0]])
        if outcome.isCreated, outcome.isDeleted { return }
        let isNet = setup.origin.modifiers.coalesce == .net
        let names = write.todo.map(names) ?? []
        let words = names.flatMap { server.words(of: $0, since: 0) }
        let isSaid =
            outcome.isDeleted
            ? names.isEmpty || names.contains(where: server.hasDeleted)
            : outcome.members.allSatisfy { name, value in words.contains { $0[name] == value } }
        guard !isNet || !isSaid else { return }
        throw Complaint(description: "these do not cancel each other out: \(texts); \(words)")
    }

    /// The names of a to-do's documents at the server.
    private func names(_ todo: Todo) -> [String] {
        guard let mark = todo.mark else { return ["/todos/\(todo.name)"] }
        return server.ids(marked: mark).map { "/todos/\($0)" }
    }

    /// The mark of the to-do that a write creates or changes, or its id where it has none.
    private func changed(by write: Write) -> String? {
        guard case .creates(let members) = write.change, case .string(let mark)? = members["mark"]
        else { return write.todo.map { $0.mark ?? server.mark($0.name) ?? $0.name } }
        return mark
    }
}
