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
