package import LarderJSON
import LarderModel

/// An entity as a value that effects can be applied to, and the way back.
///
///     let entity = EntityValue(base, effects)
///     let view = View.of(.json(entity.value), effects)   // gives another value
///     entity.body(entity's new value)
///
/// In the value, a reference is an object with one member, which holds the key. Neither the entity
/// nor an effect uses that member's name.
///
/// Effects can replace, remove or move a reference. A change inside a reference belongs to another
/// entity, so it is not shown.
///
/// An object in an effect that the rules see as an entity becomes a reference to that entity, too
/// (``marked(_:)``).
///
/// Members with an unchanged value keep their bytes. So answers keep the text of their slots.
package struct EntityValue: Sendable {
    package let value: JSONValue
    private let base: EntityBody
    private let document: DocumentRules?
    /// The name that marks a reference.
    private let marker: String

    /// Returns nil for damaged JSON, or if the names of two members differ only in half a surrogate
    /// pair.
    package init?(_ body: EntityBody, _ effects: [Effect], _ document: DocumentRules? = nil) {
        guard let texts = body.texts,
            Set(body.memberNames.map(JSONName.init)).count == body.members.count
        else { return nil }
        let marker = Self.marker(texts, effects)
        var json = JSONWriter()
        json.beginObject()
        for (member, text) in zip(body.members, texts) {
            json.name(String(decoding: body.bytes[member.name], as: UTF8.self))
            json.verbatim(text.marked(marker))
        }
        json.endObject()
        // A reference becomes an object, so the value is deeper than the entity.
        let depthMax = Limits.jsonDepthMax + 2
        guard let value = try? JSONValue(parsing: json.bytes, depthMax: depthMax) else {
            return nil
        }
        base = body
        self.document = document
        self.marker = marker
        self.value = value
    }

    /// An effect as it is applied to ``value``: with a reference for each entity in it.
    package func marked(_ effect: Effect) -> Effect {
        guard let document else { return effect }
        return document.referring(effect) { key in
            .object([JSONMember(name: marker, value: .string(key.text))])
        }
    }

    /// Makes a name that none of the texts and effects contains: U+FFFF, a noncharacter, and a
    /// number.
    private static func marker(_ texts: [PlaceholderJSON], _ effects: [Effect]) -> String {
        var taken: Set<Int> = []
        for name in texts.flatMap(\.names) { taken.formUnion(numbers(in: name)) }
        for effect in effects { taken.formUnion(numbers(in: effect.bytes)) }
        var number = 0
        while taken.contains(number) { number += 1 }
        return mark + String(number)
    }

    /// The numbers that follow U+FFFF.
    private static func numbers(in text: [UInt8]) -> [Int] {
        let mark = Array(mark.utf8)
        return text.indices.compactMap { start in
            guard text[start] == mark[0], text[start...].starts(with: mark) else { return nil }
            let digits = text[(start + mark.count)...].prefix { $0 &- UInt8(ascii: "0") < 10 }
            return Int(String(decoding: digits, as: UTF8.self))
        }
    }

    private static let mark = "\u{FFFF}"

    /// The entity of a value that effects made from ``value``; nil if it is not an object.
    package func body(_ changed: JSONValue) -> EntityBody? {
        guard let members = changed.members, let before = value.members else { return nil }
        // The members of the value have the same order as those of the entity.
        let (places, last) = (before.lastIndexes, members.lastIndexes)
        var form = FormWriter(.entity, capacity: base.bytes.count)
        form.number(last.count)
        var rows: [EntityBody.Member] = []
        for index in members.indices where last[JSONName(members[index].name)] == index {
            let member = members[index]
            if let place = places[JSONName(member.name)] {
                let held = base.members[place]
                let isSame = before[place].value.isSame(as: member.value)
                let value = isSame ? Value(held, of: base) : made(member.value)
                rows.append(Self.write(Array(base.bytes[held.name]), value, to: &form))
            } else {
                rows.append(Self.write(Array(member.name.utf8), made(member.value), to: &form))
            }
        }
        return EntityBody(form, rows)
    }

    /// A value of the entity for clients: the key replaces each reference.
    package func told(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let elements): .array(elements.map(told))
        case .object(let members):
            reference(members).map { .string($0.text) }
                ?? .object(members.map { JSONMember(name: $0.name, value: told($0.value)) })
        case .null, .bool, .number, .string: value
        }
    }

    /// A value in its stored form.
    private struct Value {
        let bytes: [UInt8]
        let hasReferences: Bool

        init(_ member: EntityBody.Member, of body: EntityBody) {
            bytes = Array(body.bytes[member.value])
            hasReferences = member.hasReferences
        }

        init(_ builder: CutBuilder) {
            bytes = builder.bytes
            hasReferences = builder.hasReferences
        }
    }

    private func made(_ value: JSONValue) -> Value {
        var builder = CutBuilder()
        write(value, to: &builder)
        builder.finish()
        return Value(builder)
    }

    private static func write(
        _ name: [UInt8],
        _ value: Value,
        to form: inout FormWriter
    ) -> EntityBody.Member {
        name.withUnsafeBytes { name in
            value.bytes.withUnsafeBytes {
                form.member(name, $0, hasReferences: value.hasReferences)
            }
        }
    }

    private func write(_ value: JSONValue, to builder: inout CutBuilder) {
        switch value {
        case .array(let elements):
            builder.text(Array("[".utf8))
            for (index, element) in elements.enumerated() {
                if index > 0 { builder.text(Array(",".utf8)) }
                write(element, to: &builder)
            }
            builder.text(Array("]".utf8))
        case .object(let members):
            if let key = reference(members) { return builder.reference(key) }
            builder.text(Array("{".utf8))
            for (index, member) in members.enumerated() {
                if index > 0 { builder.text(Array(",".utf8)) }
                var name = JSONWriter()
                name.string(member.name)
                builder.text(name.bytes + [UInt8(ascii: ":")])
                write(member.value, to: &builder)
            }
            builder.text(Array("}".utf8))
        case .null, .bool, .number, .string:
            var json = JSONWriter()
            json.value(value)
            builder.text(json.bytes)
        }
    }

    /// Key of the entity that an object refers to, even if an effect changed the object.
    private func reference(_ members: [JSONMember]) -> EntityKey? {
        let mark = members.first { $0.name.hasSameBytes(as: marker) }
        guard case .string(let text)? = mark?.value else { return nil }
        return try? EntityKey(text)
    }

    /// Whether an effect changes something within an entity that this one refers to.
    package func isReached(within changed: JSONValue) -> Bool {
        switch changed {
        case .array(let elements): elements.contains(where: isReached)
        case .object(let members):
            reference(members) != nil
                ? members.count > 1 : members.contains { isReached(within: $0.value) }
        case .null, .bool, .number, .string: false
        }
    }
}

extension EntityBody {
    /// The members' values in order; nil if one is not valid JSON.
    fileprivate var texts: [PlaceholderJSON]? {
        let texts = bytes.withUnsafeBytes { bytes in
            members.compactMap {
                PlaceholderJSON(bytes.part($0.value), hasReferences: $0.hasReferences)
            }
        }
        return texts.count == members.count ? texts : nil
    }
}

extension PlaceholderJSON {
    fileprivate var names: [[UInt8]] {
        bytes.withUnsafeBytes { bytes in
            tape.items.indices.compactMap { item in
                tape.items[item].nameEnd > 0 ? tape.name(of: item, in: bytes) : nil
            }
        }
    }

    /// The text with an object in place of each reference.
    fileprivate func marked(_ marker: String) -> [UInt8] {
        var result: [UInt8] = []
        var start = 0
        for (offset, key) in zip(offsets, keys) {
            result += bytes[start..<offset]
            var json = JSONWriter()
            json.object { $0.member(marker, String(decoding: key, as: UTF8.self)) }
            result += json.bytes
            start = offset + 1
        }
        return result + bytes[start...]
    }
}
