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

/// Rules for the entities of one type.
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

    package init(_ fields: [Field]) {
        self.fields = fields
    }

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

    package init(tokens: [String]) {
        self.tokens = tokens
    }
}
