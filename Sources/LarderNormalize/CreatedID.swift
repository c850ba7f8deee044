package import LarderJSON
package import LarderModel

/// The id that an origin gave to a thing that a write has created, as its answer says.
package struct CreatedID: Equatable, Sendable {
    /// The entity's key, or nil for a thing that is no entity.
    package let key: EntityKey?
    /// The URL of `Location`, for a thing that is no entity.
    package let url: WebURL?
    /// The id as the origin has it: a string or a number.
    package let value: JSONValue

    /// The parts of a 2xx that may tell an id.
    package struct Answer: Sendable {
        package let body: [UInt8]
        /// `Location`, resolved, if it is an address of the same origin.
        package let location: WebURL?
        /// The path of `Location` after the base URL.
        package let locationPath: String?
        /// The path of the request after the base URL.
        package let path: String

        package init(
            body: [UInt8],
            location: WebURL? = nil,
            locationPath: String? = nil,
            path: String
        ) {
            self.body = body
            self.location = location
            self.locationPath = locationPath
            self.path = path
        }
    }

    /// The id of an entity of `type`; nil if the answer does not tell it.
    ///
    /// The value at `pointer` counts first, then the only entity of the type in the body, and last
    /// the URL in `Location`.
    package init?(
        ofType type: String,
        in answer: Answer,
        at pointer: String?,
        _ rules: EntityRules
    ) {
        let body = try? JSONValue(parsing: answer.body)
        let pointed = Self.value(in: body, at: pointer)
        if let pointed, let id = pointed.idText, let key = EntityKey(type: type, id: id) {
            self.init(key: key, url: nil, value: pointed)
        } else if let key = Self.onlyKey(ofType: type, in: answer, rules) {
            let value = body.flatMap { Self.scalar(of: key.id, in: $0) } ?? .string(key.id)
            self.init(key: key, url: nil, value: value)
        } else if let path = answer.locationPath, let key = rules.key(ofPath: path),
            key.type.hasSameBytes(as: type)
        {
            self.init(key: key, url: nil, value: .string(key.id))
        } else {
            return nil
        }
        guard TemporaryID(value.idText ?? "") == nil else { return nil }
    }

    /// The address of a thing that is no entity: the URL of `Location`.
    ///
    /// The thing's id is the value at `pointer`, or else the address.
    package init?(ofThingIn answer: Answer, at pointer: String?) {
        guard let url = answer.location else { return nil }
        let pointed = Self.value(in: try? JSONValue(parsing: answer.body), at: pointer)
        let value = pointed.flatMap { $0.idText == nil ? nil : $0 } ?? .string(url.text)
        self.init(key: nil, url: url, value: value)
    }

    private init(key: EntityKey?, url: WebURL?, value: JSONValue) {
        (self.key, self.url, self.value) = (key, url, value)
    }

    private static func value(in body: JSONValue?, at pointer: String?) -> JSONValue? {
        guard let body, let pointer, let place = try? JSONPointer(pointer) else { return nil }
        return body.value(at: place)
    }

    private static func onlyKey(
        ofType type: String,
        in answer: Answer,
        _ rules: EntityRules
    ) -> EntityKey? {
        let splitter = Splitter(rules, bodyBytesMax: Limits.normalizedBodyBytesMax)
        guard case .split(let split) = splitter.split(answer.body, path: answer.path) else {
            return nil
        }
        let keys = split.keys.filter { $0.type.hasSameBytes(as: type) }
        return keys.count == 1 ? keys.first : nil
    }

    /// The first member with this text, as it is in the body: `42` or `"42"`.
    private static func scalar(of id: String, in value: JSONValue) -> JSONValue? {
        switch value {
        case .null, .bool: return nil
        case .number, .string:
            return value.idText.map { $0.hasSameBytes(as: id) } == true ? value : nil
        case .array(let elements):
            return elements.lazy.compactMap { scalar(of: id, in: $0) }.first
        case .object(let members):
            let ids = members.filter { $0.name.hasSuffix("id") }
            return (ids + members).lazy.compactMap { scalar(of: id, in: $0.value) }.first
        }
    }
}
