import LarderAPI
import LarderJSON

/// The named schemas of the document, made of the types that routes lead to.
struct Schemas {
    private let symbols: Symbols
    private(set) var named: [String: JSONValue] = [:]
    /// Types of requests: their schemas refuse other members, and need none that may be left out.
    private let requests: Set<String>
    /// The `type` members of frames, by the names of the frames' types.
    private var frames: [String: [String]] = [:]
    /// Types that are met, in the order in which they are.
    private(set) var met: Set<String> = []

    init(_ symbols: Symbols, requests: Set<String> = []) {
        self.symbols = symbols
        self.requests = requests
        for frame in Shape.all.values.flatMap({ $0 }) {
            guard case .frame(let word, let type) = frame else { continue }
            let name = Self.name(of: type)
            if frames[name]?.contains(word) != true { frames[name, default: []].append(word) }
        }
    }

    /// Takes the problems' types from their table.
    mutating func takeProblems() {
        let kinds: [JSONValue] = ProblemKind.allCases.map { kind in
            [
                "const": .string("urn:larder:\(kind.rawValue)"), "title": .string(kind.title),
                "description": .string(kind.hint), "x-status": .integer(kind.status),
                "x-retryable": .bool(kind.isRetryable),
                "x-exit": .integer(Int(kind.exit.rawValue)),
            ]
        }
        named["ProblemType"] = ["type": "string", "oneOf": .array(kinds)]
    }

    /// The schema of a type, a reference where it has a name.
    mutating func schema(of type: Any.Type) -> JSONValue {
        switch type {
        case is String.Type: return ["type": "string"]
        case is Bool.Type: return ["type": "boolean"]
        case is Double.Type: return ["type": "number"]
        case is RawJSON.Type: return [:]
        case is Timestamp.Type: return ["type": "string", "format": "date-time"]
        case is Duration.Type:
            return ["type": "string", "pattern": "^[0-9]+(ms|s|m|h|d)$"]
        case is any UnsignedInteger.Type: return ["type": "integer", "minimum": 0]
        case is any FixedWidthInteger.Type: return ["type": "integer"]
        case let type as any ListType.Type:
            return ["type": "array", "items": schema(of: type.element)]
        case let type as any NamedType.Type:
            return ["type": "object", "additionalProperties": schema(of: type.value)]
        default: break
        }
        let name = Self.name(of: type)
        if met.insert(name).inserted { named[name] = object(type, name) }
        return ["$ref": .string("#/components/schemas/\(name)")]
    }

    /// `Page<PinItem>` is `PinItemPage`.
    static func name(of type: Any.Type) -> String {
        let words = String(describing: type).split { "<>".contains($0) }
        return words.reversed().joined()
    }

    private mutating func object(_ type: Any.Type, _ name: String) -> JSONValue {
        let base = String(String(describing: type).prefix { $0 != "<" })
        let text = symbols.types[base]?.sentences ?? ""
        guard !text.isEmpty else { fatalError("\(base) has no doc comment") }
        if let type = type as? any WireEnum.Type { return choices(type, text) }
        if let shapes = Shape.all[ObjectIdentifier(type)] {
            var forms: [JSONValue] = []
            for form in shapes.map({ shape($0) }) where !forms.contains(form) { forms.append(form) }
            return ["description": .string(text), "oneOf": .array(forms)]
        }
        guard let type = type as? any Decodable.Type else { fatalError("\(base) is not read") }
        var members = JSONValue.object([])
        var required: [JSONValue] = []
        if let words = frames[name] {
            members["type"] = ["enum": .array(words.map { .string($0) })]
            required.append("type")
        }
        let isRequest = requests.contains(name)
        for member in self.members(of: type) {
            members[member.name] = schema(of: member, isRequest: isRequest)
            let mayMiss = member.isOmittedWhenNil || isRequest && member.isOptional
            if !mayMiss { required.append(.string(member.name)) }
        }
        var object: JSONValue = [
            "type": "object", "description": .string(text), "properties": members,
        ]
        if !required.isEmpty { object["required"] = .array(required) }
        if isRequest { object["additionalProperties"] = false }
        return object
    }

    private func choices(_ type: any WireEnum.Type, _ text: String) -> JSONValue {
        let documented = symbols.values[String(describing: type)] ?? []
        let values: [JSONValue] = type.known.map { value in
            let letters = value.rawValue.filter { $0 != "-" && $0 != "_" }.lowercased()
            let property = documented.first { $0.name.lowercased() == letters }
            var choice: JSONValue = ["const": .string(value.rawValue)]
            if let property { choice["description"] = .string(property.text.sentences) }
            return choice
        }
        return ["type": "string", "description": .string(text), "oneOf": .array(values)]
    }

    private mutating func shape(_ shape: Shape) -> JSONValue {
        switch shape {
        case .frame(_, let type), .type(let type): return schema(of: type)
        case .words(let words): return ["enum": .array(words.map { .string($0) })]
        case .members(let members):
            var properties = JSONValue.object([])
            for (name, type) in members { properties[name] = schema(of: type) }
            let names: [JSONValue] = members.map { .string($0.name) }
            return [
                "type": "object", "properties": properties, "required": .array(names),
                "additionalProperties": false,
            ]
        case .oneMember(let type):
            return [
                "type": "object", "additionalProperties": schema(of: type), "minProperties": 1,
                "maxProperties": 1,
            ]
        }
    }
}

extension Schemas {
    /// A member of a type, with what its declaration says.
    struct Member {
        let name: String
        let type: any Decodable.Type
        let isOptional: Bool
        let isOmittedWhenNil: Bool
        let text: Symbols.Text
    }

    func members(of type: any Decodable.Type) -> [Member] {
        let base = String(String(describing: type).prefix { $0 != "<" })
        let members = MemberProbe.members(of: type).known
        let properties = symbols.properties(of: base)
        guard members.count == properties.count else {
            fatalError(
                "\(base): \(members.map(\.name)) is read, \(properties.map(\.name)) declared"
            )
        }
        return zip(members, properties).map { member, property in
            guard let type = member.type else { fatalError("\(base).\(member.name) has no type") }
            return Member(
                name: member.name,
                type: type,
                isOptional: member.isOptional,
                isOmittedWhenNil: property.isOmittedWhenNil,
                text: property.text
            )
        }
    }

    mutating func schema(of member: Member, isRequest: Bool) -> JSONValue {
        var schema = schema(of: member.type)
        if member.name == "type", member.text.sentences.contains("kind of the problem") {
            schema = ["$ref": "#/components/schemas/ProblemType"]
        }
        let isNullable = member.isOptional && !member.isOmittedWhenNil
        if isNullable {
            if let type = schema["type"] {
                schema["type"] = [type, "null"]
            } else if !(schema.members ?? []).isEmpty {
                schema = ["oneOf": [schema, ["type": "null"]]]
            }
        }
        var text = member.text.sentences
        if let range = member.text.facts["Range"] {
            let ends = range.split(separator: "...", omittingEmptySubsequences: false)
            if ends.allSatisfy({ $0.isEmpty || Int($0) != nil }) {
                if let least = Int(ends[0]) { schema["minimum"] = .integer(least) }
                if ends.count > 1, let most = Int(ends[1]) { schema["maximum"] = .integer(most) }
            } else {
                text += " From \(ends[0]) to \(ends[1])."
            }
        }
        schema["description"] = .string(text)
        if let value = member.text.facts["Default"] { schema["default"] = .plain(value) }
        return schema
    }
}

private protocol ListType {
    static var element: Any.Type { get }
}

extension Array: ListType {
    fileprivate static var element: Any.Type { Element.self }
}

private protocol NamedType {
    static var value: Any.Type { get }
}

extension NamedValues: NamedType {
    fileprivate static var value: Any.Type { Value.self }
}
