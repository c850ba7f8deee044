/// Which objects in an origin's answers are entities.
public struct OriginNormalize: Codable, Equatable, Sendable {
    /// Members that have an object's type and id; null: an object's type is not in its members.
    public var byType: OriginTypeMembers?
    /// Rules for types, at most 1,000 and one for each type.
    public var types: [OriginTypeRule]?
    /// Places of entities in answers, at most 1,000.
    ///
    /// Where one fits, ``byType`` does not count.
    public var paths: [OriginPathRule]?

    /// Every default.
    public init() {}
}

/// Members that have an object's type and id.
public enum OriginTypeMembers: Equatable, Sendable {
    /// `true`: `__typename`, `type` or `@type`, and `id` or `_id`.
    case standard
    /// `false`: none.
    case none
    /// The names of the members, tried in this order.
    case named(type: [String], id: [String])
}

extension OriginTypeMembers: Codable {
    private struct Names: Codable {
        var type: [String]?
        var id: [String]?
    }

    /// Reads a boolean or an object of two arrays.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let isStandard = try? container.decode(Bool.self) {
            self = isStandard ? .standard : .none
        } else {
            let names = try container.decode(Names.self)
            self = .named(type: names.type ?? [], id: names.id ?? [])
        }
    }

    /// Writes a boolean or an object of two arrays.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .standard: try container.encode(true)
        case .none: try container.encode(false)
        case .named(let type, let id): try container.encode(Names(type: type, id: id))
        }
    }
}

/// A rule for the entities of one type.
public struct OriginTypeRule: Codable, Equatable, Sendable {
    /// Name of the type.
    public var type: String
    /// Members that tell two entities apart; null: the id members of `by_type`.
    public var key: [OriginKeyField]?
    /// Path of an entity's own URL after the base URL, with the members of its key in braces:
    /// `/books/{isbn}`.
    public var url: String?
    /// JSON pointer to the version of an entity: a lower version never replaces a higher one.
    public var version: String?
    /// Rules for its lists, by JSON pointers.
    public var lists: NamedValues<OriginListRule>?
    /// Whether objects of the type are not entities and stay in the object that has them.
    public var embed: Bool?
    /// The value of a member whose entity is deleted: `null`, none (`omit`), or the object that
    /// has the member counts as deleted too (`cascade`).
    public var onDeleted: DeletionRule?

    /// A rule with every default.
    public init(type: String) { self.type = type }
}

/// The value of a member whose entity is deleted.
public struct DeletionRule: WireEnum {
    /// The member has the value null.
    public static let null = DeletionRule(rawValue: "null")
    /// The member is left out.
    public static let omit = DeletionRule(rawValue: "omit")
    /// The object that has the member counts as deleted.
    public static let cascade = DeletionRule(rawValue: "cascade")
    /// Every value that this version knows.
    public static let known: [DeletionRule] = [.null, .omit, .cascade]
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// Entities at a place of some answers.
public struct OriginPathRule: Codable, Equatable, Sendable {
    /// Path of the answers after the base URL, without a query; `*` is one segment.
    public var url: String
    /// JSON pointer into the answer; `*` is any position of an array.
    public var at: String
    /// Type of the entities.
    public var type: String
    /// Members that tell two entities apart; null: the rule of the type.
    public var key: [OriginKeyField]?

    /// A rule with the key of its type.
    public init(url: String, at: String, type: String) {
        self.url = url
        self.at = at
        self.type = type
    }
}

/// A member of an entity's key.
public indirect enum OriginKeyField: Equatable, Sendable {
    /// The member of this name.
    case member(String)
    /// Members of the object that the member of this name has.
    case within(String, [OriginKeyField])
}

extension OriginKeyField: Codable {
    /// Reads a name, or an object of one member with an array.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let name = try? container.decode(String.self) {
            self = .member(name)
            return
        }
        let inner = try container.decode(NamedValues<[OriginKeyField]>.self)
        guard inner.members.count == 1, let only = inner.members.first else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "an object of one member is needed"
            )
        }
        self = .within(only.name, only.value)
    }

    /// Writes a name, or an object of one member with an array.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .member(let name): try container.encode(name)
        case .within(let name, let fields): try container.encode(NamedValues([.init(name, fields)]))
        }
    }
}

/// How the daemon merges a list with the one that it has.
public enum OriginListRule: Equatable, Sendable {
    /// The new list takes its place.
    case replace
    /// New entities are appended.
    case append
    /// Pages are appended; a request without this query parameter begins the list again.
    case pages(parameter: String)
    /// Each element takes the place of the one with the same value of this member.
    case by(member: String)
}

extension OriginListRule: Codable {
    private struct Named: Codable {
        @OmittedWhenNil var append: String?
        @OmittedWhenNil var by: String?
    }

    /// Reads `replace`, `append`, or an object with the member `append` or `by`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let word = try? container.decode(String.self) {
            switch word {
            case "replace": self = .replace
            case "append": self = .append
            default:
                throw DecodingError.dataCorruptedError(
                    in: container,
                    debugDescription: "'\(word)' is neither replace nor append"
                )
            }
            return
        }
        let named = try container.decode(Named.self)
        switch (named.append, named.by) {
        case (let parameter?, nil): self = .pages(parameter: parameter)
        case (nil, let member?): self = .by(member: member)
        case (nil, nil), (.some, .some):
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "either append or by is needed"
            )
        }
    }

    /// Writes a word or an object of one member.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .replace: try container.encode("replace")
        case .append: try container.encode("append")
        case .pages(let parameter): try container.encode(Named(append: parameter, by: nil))
        case .by(let member): try container.encode(Named(append: nil, by: member))
        }
    }
}
