/// What of a target an effect touches: what an answer that set out before must not overwrite.
package enum TouchedMembers: Equatable, Sendable {
    case all
    /// Members of the root object; none of them is nothing.
    case members(Set<JSONName>)

    package static let nothing = TouchedMembers.members([])

    package func union(_ other: TouchedMembers) -> TouchedMembers {
        switch (self, other) {
        case (.all, _), (_, .all): .all
        case (.members(let left), .members(let right)): .members(left.union(right))
        }
    }

    /// The root members of pointers; a pointer to the whole touches all.
    fileprivate init(_ pointers: some Sequence<JSONPointer>) {
        var names: Set<JSONName> = []
        for pointer in pointers {
            guard let name = pointer.tokens.first else {
                self = .all
                return
            }
            names.insert(JSONName(name))
        }
        self = .members(names)
    }
}

extension Effect {
    /// What it touches, whatever the target is now.
    package var touchedMembers: TouchedMembers {
        switch self {
        case .put, .replace, .delete: return .all
        case .none: return .nothing
        case .merge(let patch):
            guard let members = patch.members else { return .all }
            return .members(Set(members.map { JSONName($0.name) }))
        case .patch(let operations):
            return TouchedMembers(operations.flatMap(\.touchedPointers))
        case .set(let assignments, let unset):
            return TouchedMembers(assignments.map(\.pointer) + unset)
        case .add(let additions): return TouchedMembers(additions.map(\.pointer))
        case .listAdd(let changes), .listRemove(let changes):
            return TouchedMembers(changes.map(\.pointer))
        }
    }
}

extension JSONPatchOperation {
    /// A move takes something away from where it was, too; a copy does not.
    fileprivate var touchedPointers: [JSONPointer] {
        switch self {
        case .move(let from, let path): [from, path]
        case .add, .remove, .replace, .copy, .test: [path]
        }
    }
}

extension JSONValue {
    /// This value, a server's answer, with the touched members as `base` has them.
    ///
    /// Nil where nothing of the answer can be used: all is touched, or one of both is no object and
    /// something is touched. Then base stays as it is.
    package func keeping(_ touched: TouchedMembers, from base: JSONValue) -> JSONValue? {
        guard case .members(let names) = touched else { return nil }
        guard !names.isEmpty else { return self }
        guard case .object(let answered) = self, case .object(let kept) = base else { return nil }
        var mixed = JSONMembersByName(answered)
        var old = JSONMembersByName(kept)
        for name in names.sorted(by: { $0.text.utf8.lexicographicallyPrecedes($1.text.utf8) }) {
            if let value = old.take(name) {
                mixed.set(name, value)
            } else {
                mixed.remove(name)
            }
        }
        return .object(mixed.members)
    }
}
