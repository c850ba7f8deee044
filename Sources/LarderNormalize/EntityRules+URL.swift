import LarderJSON
package import LarderModel

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
                Array(field.utf8).withUnsafeBytes { JSONText.append($0, to: &json) }
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
