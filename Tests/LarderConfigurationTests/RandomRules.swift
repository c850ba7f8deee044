import LarderModel
import LarderTestSupport

extension SeededRandom {
    /// Rules that are valid, with names that YAML and JSON have to quote.
    mutating func normalizeRules() throws -> NormalizeRules {
        var rules = NormalizeRules()
        if isTrue() { rules.byType = .init(type: names(1...3), id: names(1...3)) }
        rules.types = names(0...4).map { typeRule($0) }
        let embedded = Set(rules.types.filter(\.isEmbedded).map(\.type))
        for _ in 0..<count(0...4) {
            let rule = pathRule()
            if !embedded.contains(rule.type) { rules.paths.append(rule) }
        }
        try rules.validate()
        return rules
    }

    private mutating func isTrue() -> Bool { next() % 2 == 0 }

    private mutating func count(_ range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(next() % UInt64(range.count))
    }

    /// Distinct ones.
    private mutating func names(_ range: ClosedRange<Int>) -> [String] {
        var names: [String] = []
        for _ in 0..<count(range) {
            let name = name()
            if !names.contains(name) { names.append(name) }
        }
        return names
    }

    private mutating func name() -> String {
        var name = ""
        for _ in 0..<count(1...2) { name += pick(Self.pieces) }
        return name.utf8.count > Limits.ruleNameBytesMax ? "short" : name
    }

    /// Words of YAML, its indicators, and what its readers refuse or fold.
    private static let pieces: [String] =
        [
            "isbn", "__typename", "@type", "null", "~", "true", "yes", "1", "0x1F", "1.5", "01",
            " ", "a b", "/", "~0", "~1", "\"", "'", "\\", "\\u0041", ":", ": ", "a:", "#", " # ",
            "{", "}", "[", "]", ",", "*", "&a", "!t", "- ", "-", "? ", "|", ">", "%", "@", "`",
            "é", "e\u{301}", "\u{1F300}", "\u{0}", "\t", "\n", "\r\n", "\u{1B}", "\u{7F}", "\u{85}",
            "\u{9F}", "\u{2028}", "\u{2029}", "a\u{FEFF}", "\u{FFFE}", "\u{FFFF}", "\u{E000}",
            "\u{10FFFF}",
        ] + [String(repeating: "\u{0}", count: Limits.ruleNameBytesMax)]

    private mutating func memberPath(_ range: ClosedRange<Int>) -> MemberPath {
        let tokens = (0..<count(range)).map { _ in next() % 8 == 0 ? "" : name() }
        return MemberPath(tokens: tokens)
    }

    private mutating func typeRule(_ type: String) -> TypeRule {
        var rule = TypeRule(type: type)
        if isTrue() { rule.version = memberPath(1...3) }
        if isTrue() {
            rule.key = EntityKeyRule(fields(0...3, depth: 3))
        } else if isTrue() {
            rule.key = EntityKeyRule([.member("isbn"), .member("§ 1")])
            rule.url = pick(["/books/{isbn}/{§ 1}", "/é: /{§ 1}/\u{2028}/{isbn}"])
        } else {
            rule.url = "/books/{id}"
        }
        // Beside each other, so that none lies within another.
        for name in names(0...3) {
            let path = MemberPath(tokens: [name] + memberPath(0...2).tokens)
            rule.lists[path] = pick([.replace, .append, .by(self.name())])
        }
        rule.isEmbedded = isTrue()
        rule.onDeleted = pick(DeletionRule.allCases)
        return rule
    }

    private mutating func fields(
        _ range: ClosedRange<Int>,
        depth: Int
    ) -> [EntityKeyRule.Field] {
        names(range).map { name in
            guard depth > 1, next() % 4 == 0 else { return .member(name) }
            return .within(name, fields(1...2, depth: depth - 1))
        }
    }

    private mutating func pathRule() -> PathRule {
        PathRule(
            url: pick(["/", "/articles/*", "/*/a: b/*/", "/{\"\\\n\u{2028}}", "/é"]),
            at: memberPath(0...3),
            type: name(),
            key: isTrue() ? EntityKeyRule(fields(0...3, depth: 2)) : nil
        )
    }
}
