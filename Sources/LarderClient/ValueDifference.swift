import LarderJSON
import LarderWire

/// How a value that a program changed differs from what it was, as a merge says it (RFC 7396).
///
/// What is shown may have members that the program's type does not know. A merge leaves them as
/// they are, but for those within arrays, which it replaces as a whole: such a change is refused.
struct ValueDifference {
    /// What is shown.
    let shown: JSONValue
    /// What the type makes of it.
    let before: JSONValue
    /// The same after the change.
    let after: JSONValue

    /// The merge; nil where nothing differs.
    func merge() throws(LarderError) -> JSONValue? {
        guard !before.isSame(as: after) else { return nil }
        guard let merge = before.mergePatch(to: after) else {
            throw Self.refusal("it makes a member null, which a merge removes")
        }
        if let place = Self.loss(shown, before, after, .whole) {
            throw Self.refusal(
                "what is shown has '\(place.text)', which the type does not know and a merge of "
                    + "the array around it would remove"
            )
        }
        return merge
    }

    private static func refusal(_ reason: String) -> LarderError {
        .problem(
            Problem(
                .badRequest,
                "the change cannot be sent as a merge: \(reason)",
                hint: "Write a modifier with the effect put, set or patch."
            )
        )
    }

    /// A place within an array that differs where more is shown than the type knows.
    private static func loss(
        _ shown: JSONValue,
        _ before: JSONValue,
        _ after: JSONValue,
        _ place: JSONPointer
    ) -> JSONPointer? {
        if case .array = before, case .array = after {
            return before.isSame(as: after) ? nil : unknown(in: shown, knownAs: before, place)
        }
        guard let members = before.members, after.members != nil else { return nil }
        let (shown, after) = (byName(shown), byName(after))
        for member in members {
            let name = JSONName(member.name)
            guard let inner = shown[name], let wanted = after[name] else { continue }
            let place = place.appending(member.name)
            if let found = loss(inner, member.value, wanted, place) { return found }
        }
        return nil
    }

    /// A place that is shown and not known; null counts as nothing.
    private static func unknown(
        in shown: JSONValue,
        knownAs known: JSONValue,
        _ place: JSONPointer
    ) -> JSONPointer? {
        if let elements = shown.elements, let knownElements = known.elements {
            for (index, element) in elements.enumerated() {
                let place = place.appending(String(index))
                guard index < knownElements.count else { return place }
                let found = unknown(in: element, knownAs: knownElements[index], place)
                if let found { return found }
            }
        }
        guard let members = shown.members, known.members != nil else { return nil }
        let knownMembers = byName(known)
        for member in members where !member.value.isNull {
            let place = place.appending(member.name)
            guard let inner = knownMembers[JSONName(member.name)] else { return place }
            if let found = unknown(in: member.value, knownAs: inner, place) { return found }
        }
        return nil
    }

    private static func byName(_ value: JSONValue) -> [JSONName: JSONValue] {
        let members = (value.members ?? []).map { (JSONName($0.name), $0.value) }
        return Dictionary(members, uniquingKeysWith: { $1 })
    }
}
