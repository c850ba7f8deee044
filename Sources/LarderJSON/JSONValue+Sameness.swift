import LarderModel

extension JSONValue {
    /// Whether both values are equal in any spelling; `==` compares the spelling too.
    ///
    /// Kinds count: `1`, `"1"` and `true` are three. Numbers are compared by their exact value,
    /// strings by their bytes, arrays in order.
    ///
    /// Members of an object are compared in any order. Of a repeated name the last counts.
    package func isSame(as other: JSONValue) -> Bool {
        switch (self, other) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.number(let left), .number(let right)): left.hasSameValue(as: right)
        case (.string(let left), .string(let right)): left.hasSameBytes(as: right)
        case (.array(let left), .array(let right)):
            left.count == right.count && left.elementsEqual(right) { $0.isSame(as: $1) }
        case (.object(let left), .object(let right)): Self.areSame(left, right)
        case (.null, _), (.bool, _), (.number, _), (.string, _), (.array, _), (.object, _): false
        }
    }

    /// No value is compared twice, so that nesting does not multiply the work.
    private static func areSame(_ left: [JSONMember], _ right: [JSONMember]) -> Bool {
        if left.elementsEqual(right, by: { $0.name.hasSameBytes(as: $1.name) }) {
            return areSameInOrder(left, right)
        }
        let places = right.lastIndexes
        let own = left.lastIndexes
        return own.count == places.count
            && own.allSatisfy { name, index in
                places[name].map { left[index].value.isSame(as: right[$0].value) } ?? false
            }
    }

    /// Both have the same names in the same order.
    private static func areSameInOrder(_ left: [JSONMember], _ right: [JSONMember]) -> Bool {
        var last: [JSONName: Int]?
        for index in left.indices where !left[index].value.isSame(as: right[index].value) {
            let places = last ?? left.lastIndexes
            last = places
            guard places[JSONName(left[index].name)] != index else { return false }
        }
        return true
    }
}

extension [JSONMember] {
    /// Index of the last member of each name, which is the one that counts.
    package var lastIndexes: [JSONName: Int] {
        Dictionary(indices.map { (JSONName(self[$0].name), $0) }, uniquingKeysWith: { $1 })
    }
}

extension JSONValue {
    /// Bytes that two values have in common exactly if they are the same in any spelling.
    ///
    /// The store keeps these bytes, so every version has to make the same ones.
    package var canonicalBytes: [UInt8] {
        var bytes: [UInt8] = []
        writeCanonically(to: &bytes)
        return bytes
    }

    private func writeCanonically(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes.append(UInt8(ascii: "n"))
        case .bool(let bool): bytes.append(UInt8(ascii: bool ? "t" : "f"))
        case .number(let number): Self.write("d", JSONDecimal(number).text, to: &bytes)
        case .string(let text): Self.write("s", text, to: &bytes)
        case .array(let elements):
            Self.write("[", elements.count, to: &bytes)
            for element in elements { element.writeCanonically(to: &bytes) }
        case .object(let members):
            let names = members.lastIndexes.map { (name: Array($0.key.text.utf8), index: $0.value) }
                .sorted { $0.name.lexicographicallyPrecedes($1.name) }
            Self.write("{", names.count, to: &bytes)
            for (_, index) in names {
                Self.write("s", members[index].name, to: &bytes)
                members[index].value.writeCanonically(to: &bytes)
            }
        }
    }

    private static func write(_ kind: Unicode.Scalar, _ count: Int, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: kind))
        bytes += "\(count):".utf8
    }

    private static func write(_ kind: Unicode.Scalar, _ text: String, to bytes: inout [UInt8]) {
        write(kind, text.utf8.count, to: &bytes)
        bytes += text.utf8
    }
}

/// A value as a key of a set: two are one if they say the same.
package struct JSONIdentity: Hashable {
    let value: JSONValue

    package init(_ value: JSONValue) {
        self.value = value
    }

    package static func == (left: JSONIdentity, right: JSONIdentity) -> Bool {
        left.value.isSame(as: right.value)
    }

    package func hash(into hasher: inout Hasher) {
        switch value {
        case .null: hasher.combine(0)
        case .bool(let bool):
            hasher.combine(1)
            hasher.combine(bool)
        case .number(let number):
            hasher.combine(2)
            hasher.combine(JSONDecimal(number))
        case .string(let text):
            hasher.combine(3)
            hasher.combine(JSONName(text))
        case .array(let elements):
            hasher.combine(4)
            hasher.combine(elements.count)
            for element in elements { JSONIdentity(element).hash(into: &hasher) }
        case .object(let members):
            hasher.combine(5)
            hasher.combine(Self.hash(members))
        }
    }

    /// The same hash for any order of the members.
    private static func hash(_ members: [JSONMember]) -> Int {
        members.lastIndexes.reduce(0) { sum, place in
            var hasher = Hasher()
            hasher.combine(place.key)
            JSONIdentity(members[place.value].value).hash(into: &hasher)
            return sum &+ hasher.finalize()
        }
    }
}
