import LarderModel

/// The members of an object within an effect, each of which must be taken by name.
struct EffectReader {
    /// Position of the object within the effect.
    let place: JSONPointer
    private var members: [JSONMember]
    private var taken: [String] = []

    /// Reads an object; where `names` are given, a member that has none of them is refused before
    /// anything else is looked at.
    init(
        _ value: JSONValue,
        at place: JSONPointer,
        of names: [String]? = nil
    ) throws(EffectError) {
        guard case .object(let members) = value else {
            throw .wrongKind(value, "an object", at: place)
        }
        self.members = members
        self.place = place
        guard let names else { return }
        let stranger = members.first { member in
            !names.contains { member.name.hasSameBytes(as: $0) }
        }
        if let stranger { throw unknown(stranger.name, names) }
    }

    /// The value of a member, also where it is null; nil where it is not there.
    mutating func take(_ name: String) throws(EffectError) -> JSONValue? {
        taken.append(name)
        var values: [JSONValue] = []
        members.removeAll { member in
            guard member.name.hasSameBytes(as: name) else { return false }
            values.append(member.value)
            return true
        }
        guard values.count < 2 else {
            throw .malformed(at: place.appending(name), reason: "is given twice")
        }
        return values.first
    }

    mutating func need(_ name: String) throws(EffectError) -> JSONValue {
        guard let value = try take(name) else {
            throw .malformed(at: place.appending(name), reason: "is missing")
        }
        return value
    }

    mutating func needString(_ name: String) throws(EffectError) -> String {
        let value = try need(name)
        guard let text = value.string else {
            throw .wrongKind(value, "a string", at: place.appending(name))
        }
        return text
    }

    mutating func needPointer(_ name: String) throws(EffectError) -> JSONPointer {
        try Self.pointer(try needString(name), at: place.appending(name))
    }

    /// Refuses members that were not taken.
    func refuseRest() throws(EffectError) {
        guard let first = members.first else { return }
        throw unknown(first.name, taken)
    }

    private func unknown(_ name: String, _ known: [String]) -> EffectError {
        .malformed(
            at: place.appending(name),
            reason: "is unknown, \(nearestNameAdvice(on: name, among: known))"
        )
    }

    static func pointer(_ text: String, at place: JSONPointer) throws(EffectError) -> JSONPointer {
        do throws(JSONPointerError) {
            return try JSONPointer(text)
        } catch {
            throw .malformed(at: place, reason: "cannot be taken: \(error.message)")
        }
    }
}

extension EffectError {
    static func wrongKind(
        _ value: JSONValue,
        _ needed: String,
        at place: JSONPointer
    ) -> EffectError {
        .malformed(at: place, reason: "is \(value.kindText), \(needed) is needed")
    }
}
