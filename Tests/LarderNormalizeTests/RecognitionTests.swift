import LarderJSON
import LarderModel
import LarderNormalize
import Testing

@Suite("Recognition of entities")
struct RecognitionTests {
    /// The keys of a text's entities, and why there are none.
    private func keys(
        _ text: String,
        _ rules: NormalizeRules = NormalizeRules(byType: .standard),
        path: String = "/"
    ) throws -> [String] {
        try rules.validate()
        switch Splitter(EntityRules(rules)).split(Array(text.utf8), path: path) {
        case .whole(let reason, _):
            #expect(reason == .noEntity)
            return []
        case .split(let split): return split.keys.map(\.text)
        }
    }

    private func report(_ text: String) -> SplitReport {
        let rules = EntityRules(NormalizeRules(byType: .standard))
        switch Splitter(rules).split(Array(text.utf8), path: "/") {
        case .whole(_, let report): return report
        case .split(let split): return split.report
        }
    }

    @Test("Without rules there are no entities (rule 1)")
    func noRules() throws {
        #expect(try keys(#"{"type":"A","id":1}"#, NormalizeRules()) == [])
        #expect(try keys(#"{"id":1}"#) == [])
        #expect(try keys("7") == [])
    }

    @Test(
        "The first member of the lists that fits counts (rule 2)",
        arguments: [
            (#"{"type":"A","id":1}"#, ["A:1"]), (#"{"id":1,"type":"A"}"#, ["A:1"]),
            (#"{"__typename":"B","type":"A","_id":2,"id":1}"#, ["B:1"]),
            (#"{"__typename":"","type":"A","id":null,"_id":2}"#, ["A:2"]),
            (#"{"__typename":7,"@type":"A","id":1.5,"_id":"x"}"#, ["A:x"]),
            (#"{"type":"A","type":"B","id":1,"id":2}"#, ["B:2"]),
            (#"{"\u0074ype":"\u0041","i\u0064":"\u0031"}"#, ["A:1"]),
            (#"{"type":"A"}"#, []), (#"{"id":1}"#, []), (#"{"type":["A"],"id":1}"#, []),
            (#"[[{"type":"A","id":1}],{"x":{"type":"A","id":2}}]"#, ["A:1", "A:2"]),
            (#"{"type":"A","id":1,"b":{"type":"A","id":1}}"#, ["A:1"]),
        ]
    )
    func byType(text: String, expected: [String]) throws {
        #expect(try keys(text) == expected)
    }

    @Test(
        "A type can have its own key (rule 3)",
        arguments: [
            (#"{"type":"Book","isbn":"x","id":1}"#, ["Book:x"]),
            (#"{"type":"Book","id":1}"#, []),
            (
                #"{"type":"Play","title":"T","author":{"x":0,"name":"N"}}"#,
                [#"Play:{"title"%3A"T","author"%3A{"name"%3A"N"}}"#]
            ),
            (#"{"type":"Play","title":"T","author":{"name":null}}"#, []),
            (#"{"type":"Play","title":"T","author":"N"}"#, []),
            (
                #"{"type":"Play","title":7,"author":{"name":"\n"}}"#,
                [#"Play:{"title"%3A7,"author"%3A{"name"%3A"\n"}}"#]
            ),
            (
                #"{"type":"Play","title":"7","author":{"name":"\n"}}"#,
                [#"Play:{"title"%3A7,"author"%3A{"name"%3A"\n"}}"#]
            ),
            (#"{"type":"Viewer","x":1}"#, ["Viewer:{}"]),
            (#"{"type":"Price","id":1,"in":{"type":"A","id":2}}"#, ["A:2"]),
        ]
    )
    func typeRules(text: String, expected: [String]) throws {
        let rules = NormalizeRules(
            byType: .standard,
            types: [
                TypeRule(type: "Book", key: EntityKeyRule([.member("isbn")])),
                TypeRule(
                    type: "Play",
                    key: EntityKeyRule([
                        .member("title"), .within("author", [.member("name")]),
                    ])
                ),
                TypeRule(type: "Viewer", key: EntityKeyRule([])),
                TypeRule(type: "Price", isEmbedded: true),
            ]
        )
        #expect(try keys(text, rules) == expected)
    }

    @Test(
        "Path rules win over types, where URL and place fit (rule 4)",
        arguments: [
            ("/articles/1", #"{"id":1,"author":{"id":7,"type":"X"}}"#, ["Article:1", "User:7"]),
            ("/articles/1/2", #"{"id":1,"author":{"id":7,"type":"X"}}"#, ["X:7"]),
            ("/articles/", #"{"id":1,"author":{"id":7,"type":"X"}}"#, ["X:7"]),
            ("/articles", #"[{"n":3},{"n":4,"author":{"id":7}}]"#, ["Article:3", "Article:4"]),
            ("/articles", #"{"0":{"n":3}}"#, []),
            ("/first", #"{"l":[{"id":1},{"id":2}]}"#, ["B:2"]),
            ("/caf%C3%A9s", #"{"id":1}"#, ["Café:1"]),
        ]
    )
    func paths(path: String, text: String, expected: [String]) throws {
        let byN = EntityKeyRule([.member("n")])
        let rules = NormalizeRules(
            byType: .standard,
            paths: [
                PathRule(url: "/articles/*", at: MemberPath(tokens: []), type: "Article"),
                PathRule(url: "/articles/*", at: MemberPath(tokens: ["author"]), type: "User"),
                PathRule(
                    url: "/articles",
                    at: MemberPath(tokens: ["*"]),
                    type: "Article",
                    key: byN
                ),
                PathRule(url: "/cafés", at: MemberPath(tokens: []), type: "Café"),
                PathRule(url: "/first", at: MemberPath(tokens: ["l", "1"]), type: "B"),
            ]
        )
        #expect(try keys(text, rules, path: path) == expected)
    }

    @Test("An object without a key stays embedded, counted with a sample place (rule 5)")
    func keyless() throws {
        let text = #"""
            {"a":[{"type":"A","id":1},{"type":"A"},{"type":"A","id":null},{"type":"A","id":true},
            {"type":"A","id":1.0},{"type":"A","id":1e0},{"type":"A","id":{}},{"type":"A","id":""},
            {"type":"A","id":[1]},{"id":1}]}
            """#
        #expect(report(text).keylessCount == 8)
        #expect(report(text).keylessSample == (try JSONPointer("/a/1")))
        #expect(try keys(text) == ["A:1"])
        #expect(report(#"{"type":"A","id":1}"#) == SplitReport())
        #expect(report(#"{"type":"A"}"#).keylessSample == .whole)
    }

    @Test("An entity with two different values of one name is counted (rule 10)")
    func repeated() {
        for (text, count) in [
            (#"{"type":"A","id":1,"a":1,"a":2}"#, 1), (#"{"type":"A","id":1,"a":1,"a":1}"#, 0),
            (#"[{"type":"A","id":1,"a":1,"\u0061":[]},{"type":"A","id":2,"a":1,"a":1,"a":2}]"#, 2),
            (#"[{"type":"A","id":1,"a":1,"b":2},{"type":"A","id":2,"a":2}]"#, 0),
        ] {
            #expect(report(text).repeatedCount == count, "\(text)")
        }
    }

    @Test(
        "A key has one spelling, and some values are not keys (rule 6)",
        arguments: [
            (#"{"type":"A","id":12345678901234567890123}"#, ["A:12345678901234567890123"]),
            (#"[{"type":"A","id":1},{"type":"A","id":"1"}]"#, ["A:1"]),
            (#"{"type":"A","id":-0}"#, ["A:-0"]), (#"{"type":"a/b","id":":%"}"#, ["a%2Fb:%3A%25"]),
            (#"{"type":"A","id":"\u0000é"}"#, ["A:%00é"]),
            (#"{"type":"A","id":"\ud800"}"#, []), (#"{"type":"\udc00","id":"1"}"#, []),
            (#"{"type":"A","id":"\ud83d\ude00"}"#, ["A:😀"]),
            (#"{"type":"A","id":"tmp:01"}"#, ["A:tmp:01"]),
        ]
    )
    func keyText(text: String, expected: [String]) throws {
        #expect(try keys(text) == expected)
    }

    @Test("A key that is too long is none")
    func longKey() throws {
        let long = String(repeating: "k", count: Limits.entityKeyBytesMax)
        #expect(try keys(#"{"type":"A","id":"\#(long)"}"#) == [])
        #expect(report(#"{"type":"A","id":"\#(long)"}"#).keylessCount == 1)
    }

    @Test("A body set under a key is that entity, whatever its own members say")
    func rootKey() throws {
        let key = try EntityKey("User:7")
        let splitter = Splitter(EntityRules(NormalizeRules(byType: .standard)))
        let text = #"{"name":"N","best":{"type":"User","id":8}}"#
        guard case .split(let split) = splitter.split(Array(text.utf8), path: "/", as: key) else {
            Issue.record("it is whole")
            return
        }
        #expect(split.keys.map(\.text) == ["User:7", "User:8"])
        for text in ["[]", #"[{"type":"User","id":8}]"#, "1"] {
            guard case .whole(.noEntity, _) = splitter.split(Array(text.utf8), path: "/", as: key)
            else {
                Issue.record("\(text) is no entity")
                return
            }
        }
    }

    @Test("The key that a body's members give can be read alone")
    func ownKey() {
        let splitter = Splitter(EntityRules(NormalizeRules(byType: .standard)))
        for (text, key) in [
            (#"{"type":"User","id":8,"best":{"type":"User","id":7}}"#, "User:8"),
            (#"{"best":{"type":"User","id":7}}"#, nil), (#"{"type":"User"}"#, nil), ("[]", nil),
            ("1", nil), ("{", nil), ("", nil),
        ] {
            #expect(splitter.key(of: Array(text.utf8), path: "/")?.text == key)
        }
    }
}
