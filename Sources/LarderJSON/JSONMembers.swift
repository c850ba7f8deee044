import LarderModel

/// The members of an object while many of them are changed; they keep their order.
///
/// Of a repeated name only the last member is kept.
struct JSONMembersByName {
    private var slots: [JSONMember?]
    private var places: [JSONName: Int]

    init(_ members: [JSONMember]) {
        places = members.lastIndexes
        slots = members
        guard places.count < members.count else { return }
        for (index, member) in members.enumerated() where places[JSONName(member.name)] != index {
            slots[index] = nil
        }
    }

    var members: [JSONMember] { slots.compactMap { $0 } }

    /// The value of a member, which is null here until ``set(_:_:)``: so it is changed, not copied.
    mutating func take(_ name: JSONName) -> JSONValue? {
        guard let place = places[name] else { return nil }
        let value = slots[place]?.value
        slots[place]?.value = .null
        return value
    }

    mutating func set(_ name: JSONName, _ value: JSONValue) {
        if let place = places[name] {
            slots[place]?.value = value
        } else {
            places[name] = slots.count
            slots.append(JSONMember(name: name.text, value: value))
        }
    }

    mutating func remove(_ name: JSONName) {
        guard let place = places.removeValue(forKey: name) else { return }
        slots[place] = nil
    }
}

/// A text as a key of a set or a dictionary: two are one if their bytes of UTF-8 are.
///
/// `String` itself holds composed and decomposed letters equal, which JSON does not.
package struct JSONName: Hashable, Sendable {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    package static func == (left: JSONName, right: JSONName) -> Bool {
        left.text.hasSameBytes(as: right.text)
    }

    package func hash(into hasher: inout Hasher) {
        text.hashBytes(into: &hasher)
    }
}
