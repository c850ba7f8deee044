import LarderJSON
import LarderModel

/// Finds the entities of one text, and the objects that have an entity's type but no key.
struct EntityRecognition {
    enum Verdict {
        /// The object is part of the value that contains it.
        case embedded
        /// The object is embedded although its type or place is an entity's: it has no valid key.
        case keyless
        case entity(EntityKey, type: [UInt8])
    }

    let rules: EntityRules
    /// Path rules whose URL pattern fits the answer.
    let paths: [EntityRules.OfPath]
    let tape: JSONTape
    let bytes: UnsafeRawBufferPointer

    /// Classifies an object; `steps` leads to it from the root.
    func verdict(on object: Int, at steps: ArraySlice<Step>) -> Verdict {
        if let rule = paths.first(where: { fits($0.at, steps) }) {
            let ofType = rules.types[rule.type]
            let key = rule.key ?? ofType?.key ?? rules.idMembers
            return verdict(on: object, type: rule.type, key: key)
        }
        guard let type = type(of: object) else { return .embedded }
        guard let ofType = rules.types[type] else {
            return verdict(on: object, type: type, key: rules.idMembers)
        }
        guard !ofType.isEmbedded else { return .embedded }
        return verdict(on: object, type: type, key: ofType.key ?? rules.idMembers)
    }

    /// A step on the way from the root to a value.
    struct Step {
        /// The value's item.
        let item: Int
        /// Index of an element; for a member, -1 minus its index.
        let position: Int
    }

    private func verdict(on object: Int, type: [UInt8], key: EntityRules.Key) -> Verdict {
        guard !JSONText.hasLoneSurrogate(type), let id = id(of: object, by: key) else {
            return .keyless
        }
        let made = type.withUnsafeBytes { type in
            id.withUnsafeBytes { EntityKey(type: type, id: $0) }
        }
        return made.map { .entity($0, type: type) } ?? .keyless
    }

    private func type(of object: Int) -> [UInt8]? {
        for name in rules.typeMembers {
            guard let member = tape.member(name, of: object, in: bytes),
                tape[member].kind == .string, !tape[member].content.isEmpty
            else { continue }
            return tape.text(of: member, in: bytes)
        }
        return nil
    }

    private func fits(_ pattern: [[UInt8]], _ steps: ArraySlice<Step>) -> Bool {
        guard pattern.count == steps.count else { return false }
        return zip(pattern, steps).allSatisfy { token, step in
            if step.position >= 0 {
                return token == Self.anyPosition || token == Array(String(step.position).utf8)
            }
            return tape.name(of: step.item, in: bytes) == token
        }
    }

    private static let anyPosition = [UInt8(ascii: "*")]
}

extension EntityRecognition {
    private func id(of object: Int, by key: EntityRules.Key) -> [UInt8]? {
        switch key {
        case .first(let names):
            for name in names {
                if let text = tape.member(name, of: object, in: bytes).flatMap(keyText) {
                    return text
                }
            }
            return nil
        case .one(let name): return tape.member(name, of: object, in: bytes).flatMap(keyText)
        case .composed(let fields):
            var json: [UInt8] = []
            return append(fields, of: object, to: &json) ? json : nil
        }
    }

    /// The text of a string or an integer; nil for a value that cannot be a key.
    private func keyText(_ item: Int) -> [UInt8]? {
        switch tape[item].kind {
        case .string:
            let text = tape.text(of: item, in: bytes)
            return text.isEmpty || JSONText.hasLoneSurrogate(text) ? nil : text
        case .number:
            let text = Array(bytes[tape[item].range])
            return Self.isInteger(text) ? text : nil
        case .beginObject, .endObject, .beginArray, .endArray, .name, .true, .false, .null:
            return nil
        }
    }

    /// Whether the text is an integer of JSON: so `1` and `"1"` are one key.
    static func isInteger(_ text: [UInt8]) -> Bool {
        let digits = text.first == UInt8(ascii: "-") ? text.dropFirst() : text[...]
        return !digits.isEmpty && digits.allSatisfy { $0 &- UInt8(ascii: "0") < 10 }
            && (digits.count == 1 || digits.first != UInt8(ascii: "0"))
    }

    /// Appends the fields as canonical JSON: in the order of the rule, without space.
    private func append(
        _ fields: [EntityRules.Field],
        of object: Int,
        to json: inout [UInt8]
    ) -> Bool {
        guard tape[object].kind == .beginObject else { return false }
        json.append(UInt8(ascii: "{"))
        for (index, field) in fields.enumerated() {
            if index > 0 { json.append(UInt8(ascii: ",")) }
            field.name.withUnsafeBytes { JSONText.append($0, to: &json) }
            json.append(UInt8(ascii: ":"))
            guard let item = tape.member(field.name, of: object, in: bytes) else { return false }
            guard field.inner.isEmpty else {
                guard append(field.inner, of: item, to: &json) else { return false }
                continue
            }
            guard let text = keyText(item) else { return false }
            Self.append(keyText: text, to: &json)
        }
        json.append(UInt8(ascii: "}"))
        return true
    }

    /// Appends a field's value in the form that a composed key uses.
    static func append(keyText text: [UInt8], to json: inout [UInt8]) {
        if isInteger(text) {
            json += text
        } else {
            text.withUnsafeBytes { JSONText.append($0, to: &json) }
        }
    }
}
