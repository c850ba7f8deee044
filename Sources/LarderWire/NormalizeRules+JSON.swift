import LarderJSON
package import LarderModel

extension NormalizeRules {
    /// The rules as the configuration has them.
    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.object { write(to: &$0) }
        return json.bytes
    }

    func write(to json: inout JSONWriter) {
        json.name("by_type")
        if let byType {
            json.object { json in
                json.member("type", byType.type)
                json.member("id", byType.id)
            }
        } else {
            json.null()
        }
        json.name("types")
        json.beginArray()
        for rule in types { json.object { rule.write(to: &$0) } }
        json.endArray()
        json.name("paths")
        json.beginArray()
        for rule in paths { json.object { rule.write(to: &$0) } }
        json.endArray()
    }

    /// Reads what was written.
    init(_ object: WireObject) throws(WireError) {
        self.init()
        if let members = try object.optionalObject("by_type") {
            byType = TypeMembers(type: try members.strings("type"), id: try members.strings("id"))
        }
        for rule in try object.objects("types") { types.append(try TypeRule(rule)) }
        for rule in try object.objects("paths") { paths.append(try PathRule(rule)) }
    }
}

extension TypeRule {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("type", type)
        json.name("key")
        key.write(to: &json)
        json.member("url", url)
        json.member("version", version?.text)
        json.member("lists") { json in
            let sorted = lists.map { ($0.key.text, $0.value) }.sorted { $0.0 < $1.0 }
            for (path, rule) in sorted {
                switch rule {
                case .replace: json.member(path, "replace")
                case .append: json.member(path, "append")
                case .pages(let name): json.member(path) { $0.member("append", name) }
                case .by(let name): json.member(path) { $0.member("by", name) }
                }
            }
        }
        json.member("embed", isEmbedded)
        json.name("on_deleted")
        switch onDeleted {
        case .null: json.null()
        case .omit, .cascade: json.string(onDeleted.rawValue)
        }
    }

    fileprivate init(_ object: WireObject) throws(WireError) {
        self.init(type: try object.string("type"))
        key = try EntityKeyRule?(object.value("key"))
        url = try object.optionalString("url")
        version = try object.optional("version") { MemberPath(pointer: $0) }
        let rules = try object.object("lists")
        for name in rules.names {
            guard let path = MemberPath(pointer: name) else {
                throw .unknownValue(member: "lists", text: name)
            }
            lists[path] = try ListRule(name, of: rules)
        }
        isEmbedded = try object.bool("embed")
        onDeleted = try object.optional("on_deleted") { DeletionRule(rawValue: $0) } ?? .null
    }
}

extension ListRule {
    fileprivate init(_ name: String, of rules: WireObject) throws(WireError) {
        guard try rules.value(name)?.members == nil else {
            let rule = try rules.object(name)
            if let parameter = try rule.optionalString("append") {
                self = .pages(parameter)
            } else {
                self = .by(try rule.string("by"))
            }
            return
        }
        self = try rules.required(name) { text in
            switch text {
            case "replace": .replace
            case "append": .append
            default: nil
            }
        }
    }
}

extension PathRule {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("url", url)
        json.member("at", at.text)
        json.member("type", type)
        json.name("key")
        key.write(to: &json)
    }

    fileprivate init(_ object: WireObject) throws(WireError) {
        self.init(
            url: try object.string("url"),
            at: try object.required("at") { MemberPath(pointer: $0) },
            type: try object.string("type"),
            key: try EntityKeyRule?(object.value("key"))
        )
    }
}

extension EntityKeyRule? {
    fileprivate func write(to json: inout JSONWriter) {
        guard let self else { return json.null() }
        EntityKeyRule.write(self.fields, to: &json)
    }

    fileprivate init(_ value: JSONValue?) throws(WireError) {
        self = try value.map { value throws(WireError) in
            EntityKeyRule(try EntityKeyRule.fields(value))
        }
    }
}

extension EntityKeyRule {
    fileprivate static func write(_ fields: [Field], to json: inout JSONWriter) {
        json.beginArray()
        for field in fields {
            switch field {
            case .member(let name): json.string(name)
            case .within(let name, let inner):
                json.object { json in
                    json.name(name)
                    write(inner, to: &json)
                }
            }
        }
        json.endArray()
    }

    /// As deep as the JSON, which has a limit.
    fileprivate static func fields(_ value: JSONValue) throws(WireError) -> [Field] {
        guard let elements = value.elements else {
            throw .wrongType(member: "key", wanted: "an array of fields")
        }
        return try elements.map { element throws(WireError) in
            if let name = element.string { return .member(name) }
            guard let members = element.members, members.count == 1, let member = members.first
            else { throw .wrongType(member: "key", wanted: "an array of names and objects") }
            return .within(member.name, try fields(member.value))
        }
    }
}

extension MemberPath {
    fileprivate var text: String { JSONPointer(tokens: tokens).text }

    fileprivate init?(pointer text: String) {
        guard let pointer = try? JSONPointer(text) else { return nil }
        self.init(tokens: pointer.tokens)
    }
}
