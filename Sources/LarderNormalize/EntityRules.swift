import LarderJSON
package import LarderModel

/// The rules of one origin, prepared for comparison with objects: names as bytes.
///
/// Make it once and keep it; the rules must be valid (``NormalizeRules/validate()``).
package struct EntityRules: Sendable {
    /// How objects of a type, or at a place, are told apart.
    enum Key: Sendable {
        /// The first of these members that holds a text or an integer.
        case first([[UInt8]])
        case one([UInt8])
        /// Several fields, or one within another, or none.
        case composed([Field])
    }

    struct Field: Sendable {
        let name: [UInt8]
        /// Empty if the field is the text itself.
        let inner: [Field]
    }

    struct OfType: Sendable {
        var key: Key?
        var isEmbedded = false
        var version: [[UInt8]]?
        /// The rules of lists by the first token of their pointers.
        var lists: [[UInt8]: [OfList]] = [:]
        var onDeleted = DeletionRule.null
    }

    struct OfList: Sendable {
        /// The tokens after the member's name.
        let path: [[UInt8]]
        let rule: Merging

        enum Merging: Sendable {
            case append
            case pages(String)
            case by([UInt8])
        }
    }

    struct OfPath: Sendable {
        let url: [Substring]
        let at: [[UInt8]]
        let type: [UInt8]
        let key: Key?
    }

    /// Members that hold the type; empty if the rules do not use them.
    let typeMembers: [[UInt8]]
    let idMembers: Key
    let types: [[UInt8]: OfType]
    let paths: [OfPath]
    /// In the order of the rules.
    let urls: [(type: String, rule: OwnURL)]

    package init(_ rules: NormalizeRules) {
        typeMembers = (rules.byType?.type ?? []).map { Array($0.utf8) }
        let ids = rules.byType?.id ?? NormalizeRules.TypeMembers.standard.id
        idMembers = .first(ids.map { Array($0.utf8) })
        types = Dictionary(
            rules.types.map { (Array($0.type.utf8), OfType($0)) },
            uniquingKeysWith: { first, _ in first }
        )
        urls = rules.types.compactMap { type in OwnURL(type).map { (type.type, $0) } }
        paths = rules.paths.map { rule in
            OfPath(
                url: PercentCoding.path(rule.url)
                    .split(separator: "/", omittingEmptySubsequences: false),
                at: rule.at.tokens.map { Array($0.utf8) },
                type: Array(rule.type.utf8),
                key: rule.key.map(Key.init)
            )
        }
    }

    /// The path rules whose URL fits a path after the base URL.
    func paths(for path: String) -> [OfPath] {
        let segments = path.split(separator: "/", omittingEmptySubsequences: false)
        return paths.filter { rule in
            rule.url.count == segments.count
                && zip(rule.url, segments).allSatisfy { pattern, segment in
                    pattern == "*" ? !segment.isEmpty : pattern.utf8.elementsEqual(segment.utf8)
                }
        }
    }
}

extension EntityRules.Key {
    fileprivate init(_ rule: EntityKeyRule) {
        if rule.fields.count == 1, case .member(let name) = rule.fields[0] {
            self = .one(Array(name.utf8))
        } else {
            self = .composed(rule.fields.map(EntityRules.Field.init))
        }
    }
}

extension EntityRules.Field {
    fileprivate init(_ field: EntityKeyRule.Field) {
        name = Array(field.name.utf8)
        switch field {
        case .member: inner = []
        case .within(_, let fields): inner = fields.map(EntityRules.Field.init)
        }
    }
}

extension EntityRules.OfType {
    fileprivate init(_ rule: TypeRule) {
        key = rule.key.map(EntityRules.Key.init)
        isEmbedded = rule.isEmbedded
        version = rule.version.map { $0.tokens.map { Array($0.utf8) } }
        onDeleted = rule.onDeleted
        for (path, list) in rule.lists {
            let tokens = path.tokens.map { Array($0.utf8) }
            guard let member = tokens.first else { continue }
            let rest = Array(tokens.dropFirst())
            switch list {
            case .replace: continue
            case .append:
                lists[member, default: []].append(.init(path: rest, rule: .append))
            case .pages(let name):
                lists[member, default: []].append(.init(path: rest, rule: .pages(name)))
            case .by(let name):
                lists[member, default: []].append(.init(path: rest, rule: .by(Array(name.utf8))))
            }
        }
    }
}

extension EntityRules {
    /// The entity whose own URL this is, by the rules of types.
    ///
    /// A deletion and the Location of a created entity use it.
    ///
    /// - Parameter path: The path after the base URL, without the query.
    /// - Returns: The entity's key; nil if no rule's URL fits.
    package func key(ofPath path: String) -> EntityKey? {
        for (type, rule) in urls {
            guard let texts = rule.url.texts(in: path), let id = rule.id(texts) else { continue }
            if let key = EntityKey(type: type, id: id) { return key }
        }
        return nil
    }

    /// The path of an entity's own URL, after the base URL; nil where its type has none, or a text
    /// in it is `.` or `..`, which lead elsewhere (RFC 3986 5.2.4).
    package func path(of key: EntityKey) -> String? {
        guard let rule = urls.first(where: { $0.type.utf8.elementsEqual(key.type.utf8) })?.rule,
            let texts = rule.texts(key.id), texts.allSatisfy({ !["", ".", ".."].contains($0) })
        else { return nil }
        return rule.url.path(texts)
    }

    /// Rule for the own URLs of a type's entities.
    struct OwnURL: Sendable {
        let url: EntityURL
        /// The fields of the key, in the order of the rule; nil if the id is the only one.
        let fields: [String]?

        /// Returns nil if the type has no URL, or if its fields are not those of the key.
        init?(_ rule: TypeRule) {
            guard let url = rule.url.flatMap(EntityURL.init) else { return nil }
            let names = rule.key?.fields.map(\.name)
            self.url = url
            fields = names?.count == 1 || names == nil ? nil : names
            guard url.fields.count == (fields?.count ?? 1) else { return nil }
        }

        /// The id that the texts of the URL's fields give.
        fileprivate func id(_ texts: [String]) -> String? {
            guard let fields else { return texts.first }
            var json: [UInt8] = []
            for field in fields {
                guard let place = url.fields.firstIndex(of: field) else { return nil }
                json.append(UInt8(ascii: json.isEmpty ? "{" : ","))
                Array(field.utf8).withUnsafeBytes { json.append(jsonString: $0, halves: .wtf8) }
                json.append(UInt8(ascii: ":"))
                EntityRecognition.append(keyText: Array(texts[place].utf8), to: &json)
            }
            guard !json.isEmpty else { return "{}" }
            return String(decoding: json + [UInt8(ascii: "}")], as: UTF8.self)
        }

        /// The texts of the URL's fields for an id.
        fileprivate func texts(_ id: String) -> [String]? {
            guard fields != nil else { return [id] }
            guard let value = try? JSONValue(parsing: Array(id.utf8)) else { return nil }
            var texts: [String] = []
            for field in url.fields {
                switch value[field] {
                case .string(let text)?: texts.append(text)
                case .number(let number)?: texts.append(number.text)
                case .null?, .bool?, .array?, .object?, nil: return nil
                }
            }
            return texts
        }
    }
}
