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
