import LarderModel
import Testing

@Suite("Rules for the normalized cache")
struct NormalizeRulesTests {
    /// A book as the design has it.
    private var book: TypeRule {
        TypeRule(
            type: "Book",
            key: EntityKeyRule([.member("isbn")]),
            url: "/books/{isbn}",
            version: MemberPath(tokens: ["updated_at"]),
            lists: [MemberPath(tokens: ["comments"]): .append]
        )
    }

    @Test("Valid rules of each form are accepted")
    func taken() throws {
        let nested = EntityKeyRule([.member("title"), .within("author", [.member("name")])])
        let author = MemberPath(tokens: ["author"])
        let rules = NormalizeRules(
            byType: .standard,
            types: [
                book, TypeRule(type: "Viewer", key: EntityKeyRule([]), url: "/me"),
                TypeRule(type: "Play", key: nested), TypeRule(type: "Price", isEmbedded: true),
                TypeRule(type: "Tag", url: "/tags/{id}"),
            ],
            paths: [
                PathRule(
                    url: "/articles/*",
                    at: author,
                    type: "User",
                    key: EntityKeyRule([.member("id")])
                ),
                PathRule(url: "/", at: MemberPath(tokens: []), type: "Root"),
            ]
        )
        try rules.validate()
        try NormalizeRules().validate()
        #expect(NormalizeRules.TypeMembers.standard.type == ["__typename", "type", "@type"])
        #expect(NormalizeRules.TypeMembers.standard.id == ["id", "_id"])
    }

    @Test("A rule without a meaning is refused with its place")
    func refused() {
        func expect(_ place: String, _ change: (inout NormalizeRules) -> Void) {
            var rules = NormalizeRules(byType: .standard, types: [book])
            change(&rules)
            do throws(ModelError) {
                try rules.validate()
                Issue.record("\(place) was taken")
            } catch {
                guard case .badRule(place, _) = error else {
                    Issue.record("\(place): \(error.message)")
                    return
                }
            }
        }
        let long = String(repeating: "a", count: Limits.ruleNameBytesMax + 1)
        expect("by_type.type") { $0.byType?.type = [] }
        expect("by_type.id") { $0.byType?.id = ["id", ""] }
        expect("by_type.id") { $0.byType?.id = ["id", "id"] }
        expect("by_type.type") { $0.byType?.type = (0...Limits.ruleNamesMax).map { "\($0)" } }
        expect("types") { $0.types = Array(repeating: $0.types[0], count: Limits.typeRulesMax + 1) }
        expect("types[0].type") { $0.types[0].type = "" }
        expect("types[0].type") { $0.types[0].type = long }
        expect("types[1].type") { $0.types.append(TypeRule(type: "Book")) }
        expect("types[0].key") {
            $0.types[0].key = EntityKeyRule([.member("a"), .within("a", [.member("b")])])
        }
        expect("types[0].key") { $0.types[0].key = EntityKeyRule([.within("a", [])]) }
        expect("types[0].key") { $0.types[0].key = EntityKeyRule([.member("")]) }
        expect("types[0].key") {
            $0.types[0].key = EntityKeyRule((0...Limits.keyFieldsMax).map { .member("\($0)") })
        }
        expect("types[0].key") {
            var field = EntityKeyRule.Field.member("a")
            for _ in 0..<Limits.keyDepthMax { field = .within("a", [field]) }
            $0.types[0].key = EntityKeyRule([field])
        }
        expect("types[0].url") { $0.types[0].url = "books/{isbn}" }
        expect("types[0].url") { $0.types[0].url = "/books/{id}" }
        for url in ["/books", "/books/{isbn}/{id}"] {
            expect("types[0].url") { $0.types[0] = TypeRule(type: "Book", url: url) }
        }
        expect("types[0].version") { $0.types[0].version = MemberPath(tokens: []) }
        expect("types[0].lists") { $0.types[0].lists = [MemberPath(tokens: []): .append] }
        expect("types[0].lists") {
            $0.types[0].lists[MemberPath(tokens: ["comments", "0"])] = .replace
        }
        expect("types[0].lists") { $0.types[0].lists = [MemberPath(tokens: ["a"]): .by("")] }
        expect("types[0].lists") { rules in
            for index in 0...Limits.listRulesMax {
                rules.types[0].lists[MemberPath(tokens: ["\(index)"])] = .append
            }
        }
        let root = MemberPath(tokens: [])
        expect("paths[0].url") { $0.paths = [PathRule(url: "a", at: root, type: "T")] }
        expect("paths[0].url") { $0.paths = [PathRule(url: "/a*", at: root, type: "T")] }
        expect("paths[0].url") { $0.paths = [PathRule(url: "/a?b", at: root, type: "T")] }
        expect("paths[0].type") { $0.paths = [PathRule(url: "/a", at: root, type: "")] }
        expect("paths[0].at") { rules in
            let deep = Array(repeating: "a", count: Limits.rulePathTokensMax + 1)
            rules.paths = [PathRule(url: "/a", at: MemberPath(tokens: deep), type: "T")]
        }
        expect("paths[0].type") {
            $0.types[0].isEmbedded = true
            $0.paths = [PathRule(url: "/a", at: root, type: "Book")]
        }
    }
}
