import LarderJSON
import LarderModel

/// Recognition of entities among values of one kind: those of an answer's text, or of an effect.
protocol EntityRecognizing {
    associatedtype Value

    var rules: EntityRules { get }
    /// The last member of this name, which is the one that counts; nil where the value is not an
    /// object.
    func member(_ name: [UInt8], of value: Value) -> Value?
    /// The text of a string that is not empty; nil for any other value.
    func typeText(_ value: Value) -> [UInt8]?
    /// The text of a string or an integer; nil for a value that cannot be a key.
    func keyText(_ value: Value) -> [UInt8]?
}

extension EntityRecognizing {
    /// Classifies an object; `rule` is the path rule that fits its place.
    func verdict(
        on object: Value,
        by rule: EntityRules.OfPath?
    ) -> EntityRecognition.Verdict {
        if let rule {
            return verdict(on: object, rule.type, rule.key ?? rules.types[rule.type]?.key)
        }
        guard let type = first(rules.typeMembers, of: object, typeText) else { return .embedded }
        let ofType = rules.types[type]
        return ofType?.isEmbedded == true ? .embedded : verdict(on: object, type, ofType?.key)
    }

    private func verdict(
        on object: Value,
        _ type: [UInt8],
        _ key: EntityRules.Key?
    ) -> EntityRecognition.Verdict {
        guard !JSONText.hasLoneSurrogate(type), let id = id(of: object, by: key ?? rules.idMembers)
        else { return .keyless }
        let made = type.withUnsafeBytes { type in
            id.withUnsafeBytes { EntityKey(type: type, id: $0) }
        }
        return made.map { .entity($0, type: type) } ?? .keyless
    }

    /// The first text that one of these members holds.
    private func first(
        _ names: [[UInt8]],
        of object: Value,
        _ read: (Value) -> [UInt8]?
    ) -> [UInt8]? {
        for name in names {
            if let text = member(name, of: object).flatMap(read) { return text }
        }
        return nil
    }

    /// The text of an object's key field, or the canonical JSON of several; nil if it has none.
    private func id(of object: Value, by key: EntityRules.Key) -> [UInt8]? {
        switch key {
        case .first(let names): return first(names, of: object, keyText)
        case .one(let name): return member(name, of: object).flatMap(keyText)
        case .composed(let fields):
            var json: [UInt8] = []
            return append(fields, of: object, to: &json) ? json : nil
        }
    }

    /// Appends the fields as canonical JSON: in the order of the rule, without space.
    private func append(
        _ fields: [EntityRules.Field],
        of object: Value,
        to json: inout [UInt8]
    ) -> Bool {
        json.append(UInt8(ascii: "{"))
        for (index, field) in fields.enumerated() {
            if index > 0 { json.append(UInt8(ascii: ",")) }
            field.name.withUnsafeBytes { json.append(jsonString: $0, halves: .wtf8) }
            json.append(UInt8(ascii: ":"))
            guard let value = member(field.name, of: object) else { return false }
            guard field.inner.isEmpty else {
                guard append(field.inner, of: value, to: &json) else { return false }
                continue
            }
            guard let text = keyText(value) else { return false }
            EntityRecognition.append(keyText: text, to: &json)
        }
        json.append(UInt8(ascii: "}"))
        return true
    }
}

/// Finds the entities of one text, and the objects that have an entity's type but no key.
struct EntityRecognition: EntityRecognizing {
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
        verdict(on: object, by: paths.first { fits($0.at, steps) })
    }

    /// A step on the way from the root to a value.
    struct Step {
        let item: Int
        /// Index of an element; for a member, -1 minus its index.
        let position: Int
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
    func member(_ name: [UInt8], of item: Int) -> Int? {
        tape[item].kind == .beginObject ? tape.member(name, of: item, in: bytes) : nil
    }

    func typeText(_ item: Int) -> [UInt8]? {
        guard tape[item].kind == .string, !tape[item].content.isEmpty else { return nil }
        return tape.text(of: item, in: bytes)
    }

    func keyText(_ item: Int) -> [UInt8]? {
        guard tape[item].kind == .number else {
            return typeText(item).flatMap { JSONText.hasLoneSurrogate($0) ? nil : $0 }
        }
        let text = Array(bytes[tape[item].range])
        return Self.isInteger(text) ? text : nil
    }

    /// Whether the text is an integer of JSON: so `1` and `"1"` are one key.
    static func isInteger(_ text: [UInt8]) -> Bool {
        let digits = text.first == UInt8(ascii: "-") ? text.dropFirst() : text[...]
        return !digits.isEmpty && digits.allSatisfy { $0 &- UInt8(ascii: "0") < 10 }
            && (digits.count == 1 || digits.first != UInt8(ascii: "0"))
    }

    /// Appends a field's value in the form that a composed key uses.
    static func append(keyText text: [UInt8], to json: inout [UInt8]) {
        if isInteger(text) {
            json += text
        } else {
            text.withUnsafeBytes { json.append(jsonString: $0, halves: .wtf8) }
        }
    }
}
