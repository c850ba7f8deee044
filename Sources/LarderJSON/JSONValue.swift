import LarderModel

/// A whole JSON text in memory: commands, reports, and the bodies that effects are applied to.
package enum JSONValue: Sendable {
    case null
    case bool(Bool)
    case number(JSONNumber)
    case string(String)
    case array([JSONValue])
    /// The members in the order of the text; a name may be repeated.
    case object([JSONMember])
}

/// A name and its value in an object.
package struct JSONMember: Equatable, Sendable {
    package let name: String
    package var value: JSONValue

    package init(name: String, value: JSONValue) {
        self.name = name
        self.value = value
    }

    package static func == (left: JSONMember, right: JSONMember) -> Bool {
        left.name.hasSameBytes(as: right.name) && left.value == right.value
    }
}

extension JSONValue: Equatable {
    /// Equal in kind, order and text: `1` is not `1.0`, and Unicode's equivalences do not count.
    package static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.string(let left), .string(let right)): left.hasSameBytes(as: right)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        case (.null, _), (.bool, _), (.number, _), (.string, _), (.array, _), (.object, _): false
        }
    }
}

extension JSONValue {
    package init(
        parsing bytes: [UInt8],
        depthMax: Int = Limits.jsonDepthMax
    ) throws(JSONError) {
        self = try bytes.withRawBytes { (buffer) throws(JSONError) -> JSONValue in
            try JSONValue(parsing: buffer, depthMax: depthMax)
        }
    }

    package init(
        parsing bytes: UnsafeRawBufferPointer,
        depthMax: Int = Limits.jsonDepthMax
    ) throws(JSONError) {
        var tokenizer = JSONTokenizer(bytes, depthMax: depthMax)
        self = try Self.value(try Self.token(&tokenizer), &tokenizer, bytes)
        while try tokenizer.next() != nil {}
    }

    private static func value(
        _ token: JSONToken,
        _ tokenizer: inout JSONTokenizer,
        _ bytes: UnsafeRawBufferPointer
    ) throws(JSONError) -> JSONValue {
        switch token.kind {
        case .null: return .null
        case .true: return .bool(true)
        case .false: return .bool(false)
        case .number:
            let text = String(decoding: bytes[token.range], as: UTF8.self)
            return .number(JSONNumber(unchecked: text))
        case .string, .name:
            return .string(JSONStringScan.text(token, in: bytes))
        case .beginArray:
            var elements: [JSONValue] = []
            while true {
                let next = try Self.token(&tokenizer)
                guard next.kind != .endArray else { return .array(elements) }
                elements.append(try value(next, &tokenizer, bytes))
            }
        case .beginObject:
            var members: [JSONMember] = []
            while true {
                let next = try Self.token(&tokenizer)
                guard next.kind != .endObject else { return .object(members) }
                let name = JSONStringScan.text(next, in: bytes)
                let inner = try value(try Self.token(&tokenizer), &tokenizer, bytes)
                members.append(JSONMember(name: name, value: inner))
            }
        case .endArray, .endObject:
            preconditionFailure("the tokenizer pairs what opens and closes")
        }
    }

    /// The next token inside of a value, where there is always one or an error.
    private static func token(_ tokenizer: inout JSONTokenizer) throws(JSONError) -> JSONToken {
        guard let token = try tokenizer.next() else { preconditionFailure("the value is open") }
        return token
    }
}

extension JSONValue {
    /// The value of the last member of this name; nil where this is no object.
    package subscript(name: String) -> JSONValue? {
        members?.last { $0.name.hasSameBytes(as: name) }?.value
    }

    package var members: [JSONMember]? {
        if case .object(let members) = self { members } else { nil }
    }

    package var elements: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    package var string: String? {
        if case .string(let string) = self { string } else { nil }
    }

    package var bool: Bool? {
        if case .bool(let bool) = self { bool } else { nil }
    }

    package var integer: Int64? {
        if case .number(let number) = self { number.integer } else { nil }
    }

    package var isNull: Bool {
        if case .null = self { true } else { false }
    }

    /// The kind, as a message names it: `a number`.
    package var kindText: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

extension JSONValue {
    /// The value at the place; nil if there is none.
    ///
    /// Of a repeated name in an object the last counts. The place `-`, after an array's last
    /// element, has no value.
    package func value(at pointer: JSONPointer) -> JSONValue? {
        var value = self
        for token in pointer.tokens {
            guard let child = value.child(token) else { return nil }
            value = child
        }
        return value
    }

    /// The values at places, as ``value(at:)`` has each, without a search for each of them.
    package func values(at places: [JSONPointer]) -> [JSONPointer: JSONValue] {
        var found: [JSONPointer: JSONValue] = [:]
        collect(places, from: 0, to: &found)
        return found
    }

    /// More names than these are looked for in a table.
    private static let scannedNamesMax = 8

    /// Adds the values at places, of which so many tokens have led here.
    private func collect(
        _ places: [JSONPointer],
        from depth: Int,
        to found: inout [JSONPointer: JSONValue]
    ) {
        var inner: [JSONName: [JSONPointer]] = [:]
        for place in places {
            if place.tokens.count == depth {
                found[place] = self
            } else {
                inner[JSONName(place.tokens[depth]), default: []].append(place)
            }
        }
        let members = self.members ?? []
        let table = inner.count > Self.scannedNamesMax ? members.lastIndexes : [:]
        for (name, places) in inner {
            let known = table[name].map { members[$0].value }
            let value = table.isEmpty ? child(name.text) : known
            value?.collect(places, from: depth + 1, to: &found)
        }
    }

    private func child(_ token: String) -> JSONValue? {
        switch self {
        case .object: self[token]
        case .array(let elements): elements.index(of: token).map { elements[$0] }
        case .null, .bool, .number, .string: nil
        }
    }

    /// The same within a budget.
    func value(
        at pointer: JSONPointer,
        _ budget: inout EffectBudget
    ) throws(Inapplicability.Cause) -> JSONValue? {
        var value = self
        for token in pointer.tokens {
            try budget.spend(value.members?.count ?? 1)
            guard let child = value.child(token) else { return nil }
            value = child
        }
        return value
    }

    /// Calls `body` with the value that the tokens lead to, and changes it in place.
    ///
    /// With `makesParents` missing parents are made as objects, and an object replaces a scalar on
    /// the way. An array is not a scalar: the index after the last appends to it. A value that was
    /// not there is null.
    ///
    /// After an error this value is unusable: change a copy.
    mutating func change(
        at tokens: ArraySlice<String>,
        makesParents: Bool = false,
        _ budget: inout EffectBudget,
        _ body: (inout JSONValue, inout EffectBudget) throws(Inapplicability.Cause) -> Void
    ) throws(Inapplicability.Cause) {
        guard let token = tokens.first else { return try body(&self, &budget) }
        switch self {
        case .object(var members):
            try budget.spend(members.count)
            let known = members.lastIndex(named: token)
            guard known != nil || makesParents else { throw .missing }
            // Taken out meanwhile, so that the members are changed and not copied.
            self = .null
            if known == nil { members.append(JSONMember(name: token, value: .null)) }
            let index = known ?? members.count - 1
            try members[index].value.change(
                at: tokens.dropFirst(),
                makesParents: makesParents,
                &budget,
                body
            )
            self = .object(members)
        case .array(var elements):
            let index = JSONPointer.index(token)
            if makesParents, index == nil { throw .notAnIndex(token) }
            guard let index, index < elements.count + (makesParents ? 1 : 0) else { throw .missing }
            try budget.reach(intoArrayOf: elements.count)
            self = .null
            if index == elements.count { elements.append(.null) }
            try elements[index].change(
                at: tokens.dropFirst(),
                makesParents: makesParents,
                &budget,
                body
            )
            self = .array(elements)
        case .null, .bool, .number, .string:
            guard makesParents else { throw .missing }
            self = .object([])
            try change(at: tokens, makesParents: true, &budget, body)
        }
    }
}

extension [JSONMember] {
    /// The member of this name that counts.
    func lastIndex(named name: String) -> Int? {
        lastIndex { $0.name.hasSameBytes(as: name) }
    }

    mutating func set(_ name: String, _ value: JSONValue) {
        if let index = lastIndex(named: name) {
            self[index].value = value
        } else {
            append(JSONMember(name: name, value: value))
        }
    }

    mutating func removeAll(named name: String) {
        removeAll { $0.name.hasSameBytes(as: name) }
    }
}

extension [JSONValue] {
    /// The index of an element that is there.
    func index(of token: String) -> Int? {
        JSONPointer.index(token).flatMap { $0 < count ? $0 : nil }
    }
}

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
