import LarderModel

/// JSON Merge Patch (RFC 7396): a patch that looks like what it changes, in which null removes.
enum JSONMerge {
    /// Changes `target` as `patch` says.
    static func apply(
        _ patch: JSONValue,
        to target: inout JSONValue,
        _ budget: inout EffectBudget,
        below depth: Int = 0
    ) throws(Inapplicability.Cause) {
        guard case .object(let changes) = patch else {
            try budget.admit(patch, below: depth)
            target = patch
            return
        }
        guard depth < Limits.jsonDepthMax else { throw .tooDeep }
        let members = target.members ?? []
        try budget.spend(members.count + 2 * changes.count)
        var merged = JSONMembersByName(members)
        target = .null
        for (name, index) in changes.lastIndexes.sorted(by: { $0.value < $1.value }) {
            if changes[index].value.isNull {
                merged.remove(name)
                continue
            }
            var value = merged.take(name) ?? .null
            try budget.admit(names: [name.text])
            try apply(changes[index].value, to: &value, &budget, below: depth + 1)
            merged.set(name, value)
        }
        target = .object(merged.members)
    }
}

extension JSONValue {
    /// The merge patch that leads from this value to `other`; nil if there is none.
    ///
    /// There is none if a member would have to become null, as null removes.
    ///
    /// A value that differs only in spelling stays. So the result equals `other`, but can be
    /// spelled differently.
    package func mergePatch(to other: JSONValue) -> JSONValue? {
        guard case .object(let wanted) = other else { return other }
        guard case .object(let members) = self else {
            return other.hasNullMember ? nil : other
        }
        let present = members.lastIndexes
        let places = wanted.lastIndexes
        var changes = present.filter { places[$0.key] == nil }
            .sorted { $0.value < $1.value }
            .map { JSONMember(name: $0.key.text, value: .null) }
        for (name, index) in places.sorted(by: { $0.value < $1.value }) {
            let value = wanted[index].value
            guard let old = present[name].map({ members[$0].value }) else {
                guard !value.isNull, !value.hasNullMember else { return nil }
                changes.append(JSONMember(name: name.text, value: value))
                continue
            }
            if case .object = old, case .object = value {
                guard let inner = old.mergePatch(to: value) else { return nil }
                if inner.members?.isEmpty == true { continue }
                changes.append(JSONMember(name: name.text, value: inner))
            } else if !old.isSame(as: value) {
                guard !value.isNull, !value.hasNullMember else { return nil }
                changes.append(JSONMember(name: name.text, value: value))
            }
        }
        return .object(changes)
    }

    /// Whether a merge of this value would lose a member: null within objects, as far as no array
    /// is around it.
    private var hasNullMember: Bool {
        guard case .object(let members) = self else { return false }
        return members.lastIndexes.values.contains {
            members[$0].value.isNull || members[$0].value.hasNullMember
        }
    }
}
