/// Which objects in an origin's answers are entities, and how those are kept and shown.
///
/// Without rules nothing is guessed: an `id` alone does not tell user 42 from article 42.
package struct NormalizeRules: Hashable, Sendable {
    /// How an object says what it is; nil: no object is recognised by its type.
    package var byType: TypeMembers?
    /// At most one for a type.
    package var types: [TypeRule]
    /// For servers whose objects do not say what they are; where one fits, it counts, and
    /// ``byType`` does not.
    package var paths: [PathRule]

    package init(byType: TypeMembers? = nil, types: [TypeRule] = [], paths: [PathRule] = []) {
        self.byType = byType
        self.types = types
        self.paths = paths
    }

    /// Which members hold an object's type and its id; the first that fits counts.
    package struct TypeMembers: Hashable, Sendable {
        package var type: [String]
        package var id: [String]

        package init(
            type: [String] = ["__typename", "type", "@type"],
            id: [String] = ["id", "_id"]
        ) {
            self.type = type
            self.id = id
        }

        /// Members that `by_type: true` selects.
        package static let standard = TypeMembers()
    }
}

package struct TypeRule: Hashable, Sendable {
    package var type: String
    /// Members that identify an entity; nil leaves it to the id members.
    package var key: EntityKeyRule?
    /// Where the origin has one of its own: `/books/{isbn}`, after the base URL.
    package var url: String?
    /// Where an entity says which version of it this is: a number, or a text that sorts.
    package var version: MemberPath?
    /// How a list of an answer is merged with the stored one.
    package var lists: [MemberPath: ListRule]
    /// Whether they are never entities but stay in what holds them.
    package var isEmbedded: Bool
    /// Replacement of an entity that the origin has deleted.
    package var onDeleted: DeletionRule

    package init(
        type: String,
        key: EntityKeyRule? = nil,
        url: String? = nil,
        version: MemberPath? = nil,
        lists: [MemberPath: ListRule] = [:],
        isEmbedded: Bool = false,
        onDeleted: DeletionRule = .null
    ) {
        self.type = type
        self.key = key
        self.url = url
        self.version = version
        self.lists = lists
        self.isEmbedded = isEmbedded
        self.onDeleted = onDeleted
    }
}

/// Replacement of a deleted entity that was a member; from a list it is dropped.
package enum DeletionRule: String, Sendable, CaseIterable {
    case null
    /// The member goes with it.
    case omit
    /// The entity that contains it counts as deleted, too.
    case cascade
}

/// How a list of an answer is merged with the entity's stored list.
package enum ListRule: Hashable, Sendable {
    case replace
    /// The union by entity key; what was there first keeps its place, and nothing goes.
    case append
    /// The pages of a list of entities, in the order in which they come: the query parameter of this
    /// name says which. Without it, or where it is empty, 0 or 1, an answer is the first page, with
    /// which the list starts again unless it begins like that already.
    case pages(String)
    /// The union by a member of the elements; one that came replaces the one it is.
    case by(String)
}

/// Declares that a place in some answers has entities of a type.
package struct PathRule: Hashable, Sendable {
    /// The path after the base URL, without the query; `*` is one whole segment.
    package var url: String
    /// The place in the answer; `*` is any position of a list.
    package var at: MemberPath
    package var type: String
    /// Nil leaves it to the rule of the type, and that to the id members.
    package var key: EntityKeyRule?

    package init(url: String, at: MemberPath, type: String, key: EntityKeyRule? = nil) {
        self.url = url
        self.at = at
        self.type = type
        self.key = key
    }
}

/// The members by which entities of a type are told apart, in order; none: there is only one.
package struct EntityKeyRule: Hashable, Sendable {
    package var fields: [Field]

    package init(_ fields: [Field]) { self.fields = fields }

    package indirect enum Field: Hashable, Sendable {
        case member(String)
        /// Fields of the object that this member holds.
        case within(String, [Field])

        package var name: String {
            switch self {
            case .member(let name), .within(let name, _): name
            }
        }
    }
}

/// Place of a value in an object: the tokens of a JSON pointer (RFC 6901).
///
/// In ``PathRule/at`` a token `*` is any position of a list.
package struct MemberPath: Hashable, Sendable {
    package let tokens: [String]

    package init(tokens: [String]) { self.tokens = tokens }
}

extension NormalizeRules {
    /// Says what is wrong with rules that decode but cannot be meant so.
    ///
    /// - Throws: ``ModelError/badRule(at:reason:)`` with the first place at fault, such as
    ///   `types[2].key`.
    package func validate() throws(ModelError) {
        try byType?.validate()
        try Self.check(types.count <= Limits.typeRulesMax, at: "types") {
            "at most \(Limits.typeRulesMax) are taken"
        }
        var known: Set<String> = []
        for (index, rule) in types.enumerated() {
            let place = "types[\(index)]"
            try rule.validate(at: place)
            try Self.check(known.insert(rule.type).inserted, at: "\(place).type") {
                "'\(rule.type)' has a rule already"
            }
        }
        try Self.check(paths.count <= Limits.pathRulesMax, at: "paths") {
            "at most \(Limits.pathRulesMax) are taken"
        }
        let embedded = Set(types.filter(\.isEmbedded).map(\.type))
        for (index, rule) in paths.enumerated() {
            let place = "paths[\(index)]"
            try rule.validate(at: place)
            try Self.check(!embedded.contains(rule.type), at: "\(place).type") {
                "'\(rule.type)' is embedded by the rule of its type"
            }
        }
    }

    fileprivate static func check(
        _ isRight: Bool,
        at place: String,
        _ reason: () -> String
    ) throws(ModelError) {
        guard isRight else { throw .badRule(at: place, reason: reason()) }
    }

    fileprivate static func check(name: String, at place: String) throws(ModelError) {
        try check((1...Limits.ruleNameBytesMax).contains(name.utf8.count), at: place) {
            "a name has 1 to \(Limits.ruleNameBytesMax) bytes"
        }
    }
}

extension NormalizeRules.TypeMembers {
    fileprivate func validate() throws(ModelError) {
        for (names, place) in [(type, "by_type.type"), (id, "by_type.id")] {
            try NormalizeRules.check(
                (1...Limits.ruleNamesMax).contains(names.count),
                at: place,
                { "1 to \(Limits.ruleNamesMax) names are taken" }
            )
            for name in names { try NormalizeRules.check(name: name, at: place) }
            try NormalizeRules.check(Set(names).count == names.count, at: place) {
                "it has a duplicate name"
            }
        }
    }
}

extension TypeRule {
    fileprivate func validate(at place: String) throws(ModelError) {
        try NormalizeRules.check(name: type, at: "\(place).type")
        try key?.validate(at: "\(place).key")
        if let url { try validate(url: url, at: "\(place).url") }
        if let version {
            try version.validate(at: "\(place).version", allowsWhole: false)
        }
        try NormalizeRules.check(lists.count <= Limits.listRulesMax, at: "\(place).lists") {
            "at most \(Limits.listRulesMax) are taken"
        }
        for (path, rule) in lists {
            try path.validate(at: "\(place).lists", allowsWhole: false)
            let above = lists.keys.first { $0.isAbove(path) }
            try NormalizeRules.check(above == nil, at: "\(place).lists") {
                "'\(path.text)' lies within '\(above?.text ?? "")'"
            }
            if case .by(let name) = rule {
                try NormalizeRules.check(name: name, at: "\(place).lists")
            }
        }
    }

    /// Each placeholder is a field of the key, and each field has one.
    private func validate(url: String, at place: String) throws(ModelError) {
        guard let template = EntityURL(url) else {
            throw .badRule(
                at: place,
                reason: "'\(url)' is no path such as /books/{isbn}, with a whole field in braces"
            )
        }
        guard let key else {
            return try NormalizeRules.check(template.fields.count == 1, at: place) {
                "'\(url)' has not one field, as the id is"
            }
        }
        let names = key.fields.map(\.name)
        let isPlain = key.fields.allSatisfy { if case .member = $0 { true } else { false } }
        try NormalizeRules.check(isPlain && Set(template.fields) == Set(names), at: place) {
            "'\(url)' names other fields than the key"
        }
    }
}

extension PathRule {
    fileprivate func validate(at place: String) throws(ModelError) {
        try NormalizeRules.check(url.utf8.count <= Limits.idBytesMax, at: "\(place).url") {
            "it has more than \(Limits.idBytesMax) bytes"
        }
        let isPath = url.utf8.first == UInt8(ascii: "/")
        try NormalizeRules.check(isPath && !url.contains("?"), at: "\(place).url") {
            "'\(url)' is no path after the base URL: it begins with '/' and has no query"
        }
        let isWhole = url.split(separator: "/").allSatisfy { $0 == "*" || !$0.contains("*") }
        try NormalizeRules.check(isWhole, at: "\(place).url") {
            "in '\(url)' a '*' is not a whole segment"
        }
        try at.validate(at: "\(place).at", allowsWhole: true)
        try NormalizeRules.check(name: type, at: "\(place).type")
        try key?.validate(at: "\(place).key")
    }
}

extension EntityKeyRule {
    fileprivate func validate(at place: String) throws(ModelError) {
        var count = 0
        try Self.validate(fields, at: place, depth: 1, &count)
    }

    private static func validate(
        _ fields: [Field],
        at place: String,
        depth: Int,
        _ count: inout Int
    ) throws(ModelError) {
        try NormalizeRules.check(depth <= Limits.keyDepthMax, at: place) {
            "it is nested more than \(Limits.keyDepthMax) deep"
        }
        count += fields.count
        try NormalizeRules.check(count <= Limits.keyFieldsMax, at: place) {
            "at most \(Limits.keyFieldsMax) fields are taken"
        }
        try NormalizeRules.check(Set(fields.map(\.name)).count == fields.count, at: place) {
            "it has a duplicate field"
        }
        for field in fields {
            try NormalizeRules.check(name: field.name, at: place)
            guard case .within(let name, let inner) = field else { continue }
            try NormalizeRules.check(!inner.isEmpty, at: place) { "'\(name)' names no field" }
            try validate(inner, at: place, depth: depth + 1, &count)
        }
    }
}

extension MemberPath {
    fileprivate func validate(at place: String, allowsWhole: Bool) throws(ModelError) {
        try NormalizeRules.check(
            (allowsWhole ? 0 : 1)...Limits.rulePathTokensMax ~= tokens.count,
            at: place,
            { "a pointer has at most \(Limits.rulePathTokensMax) tokens, and here one or more" }
        )
        for token in tokens {
            try NormalizeRules.check(token.utf8.count <= Limits.ruleNameBytesMax, at: place) {
                "a name has at most \(Limits.ruleNameBytesMax) bytes"
            }
        }
    }

    /// The path for a message, without escapes.
    fileprivate var text: String { tokens.map { "/" + $0 }.joined() }

    fileprivate func isAbove(_ other: MemberPath) -> Bool {
        tokens.count < other.tokens.count && other.tokens.starts(with: tokens)
    }
}
