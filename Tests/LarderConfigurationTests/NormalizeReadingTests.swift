import LarderModel
import LarderTestSupport
import Testing

@testable import LarderConfiguration

@Suite("Reading the rules of an origin's entities")
struct NormalizeReadingTests {
    /// What `text`, under the key `normalize`, says.
    private func rules(_ text: String) throws -> NormalizeRules? {
        let indented = text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { "      \($0)\n" }.joined()
        let read = try configuration(
            "origins:\n  a:\n    base_url: http://a.b\n    normalize:\n" + indented
        )
        return read.origins[0].normalize
    }

    @Test("Every key reaches its place")
    func everyKey() throws {
        let read = try rules(
            """
            by_type: {type: [kind, "@type"], id: [nr]}
            types:
              - type: Book
                key: [isbn]
                url: "/books/{isbn}"
                version: /meta/a~1b
                lists: {/comments: append, /pages: {append: page}, /tags: replace, /a/prices: {by: currency}}
                on_deleted: cascade
              - {type: Play, key: [title, {author: [{name: [first, last]}, 1]}]}
              - {type: Settings, key: [], on_deleted: omit}
              - {type: Price, embed: true, key: null, url: ~, version: , lists: , on_deleted: null}
            paths:
              - {url: "/articles/*", at: /comments/*/author, type: User, key: [id]}
              - {url: /books, at: "", type: Book}
            """
        )
        let expected = NormalizeRules(
            byType: .init(type: ["kind", "@type"], id: ["nr"]),
            types: [
                TypeRule(
                    type: "Book",
                    key: EntityKeyRule([.member("isbn")]),
                    url: "/books/{isbn}",
                    version: MemberPath(tokens: ["meta", "a/b"]),
                    lists: [
                        MemberPath(tokens: ["comments"]): .append,
                        MemberPath(tokens: ["pages"]): .pages("page"),
                        MemberPath(tokens: ["tags"]): .replace,
                        MemberPath(tokens: ["a", "prices"]): .by("currency"),
                    ],
                    onDeleted: .cascade
                ),
                TypeRule(
                    type: "Play",
                    key: EntityKeyRule([
                        .member("title"),
                        .within(
                            "author",
                            [
                                .within("name", [.member("first"), .member("last")]),
                                .member("1"),
                            ]
                        ),
                    ])
                ),
                TypeRule(type: "Settings", key: EntityKeyRule([]), onDeleted: .omit),
                TypeRule(type: "Price", isEmbedded: true),
            ],
            paths: [
                PathRule(
                    url: "/articles/*",
                    at: MemberPath(tokens: ["comments", "*", "author"]),
                    type: "User",
                    key: EntityKeyRule([.member("id")])
                ),
                PathRule(url: "/books", at: MemberPath(tokens: []), type: "Book"),
            ]
        )
        #expect(read == expected)
    }

    @Test("Rules that are left out are absent, and null means no rules")
    func leftOut() throws {
        #expect(try rules("by_type: true") == NormalizeRules(byType: .standard))
        #expect(try rules("by_type: {}") == NormalizeRules(byType: .standard))
        #expect(
            try rules("by_type: {id: [nr]}") == NormalizeRules(byType: .init(id: ["nr"]))
        )
        #expect(try rules("{by_type: false, types: , paths: []}") == NormalizeRules())
        #expect(try rules("{by_type: ~}") == NormalizeRules())
        #expect(try rules("{}") == NormalizeRules())
        #expect(try rules("null") == nil)
        #expect(try configuration("origins: {a: {base_url: http://a}}").origins[0].normalize == nil)
    }

    @Test(
        "A mistake in the rules is named with its place, and with a suggestion",
        arguments: [
            ("[]", "12: # is a mapping of keys to values, not a list"),
            ("1", "12: # is a mapping of keys to values, not a single value"),
            ("{by_typ: true}", "13: there is no key '#.by_typ' (did you mean 'by_type'?)"),
            ("{by_type: yes}", "22: 'yes' is neither true nor false (did you mean 'true'?)"),
            ("{by_type: [id]}", "22: #.by_type is a mapping of keys to values, not a list"),
            (
                "{by_type: {types: [a]}}",
                "23: there is no key '#.by_type.types' (did you mean 'type'?)"
            ),
            ("{by_type: {type: kind}}", "29: #.by_type.type is a list, such as [a, b]"),
            ("{by_type: {type: [a, ~]}}", "33: #.by_type.type[1] has no value"),
            ("{by_type: {type: [a, [b]]}}", "33: #.by_type.type[1] is a single value, not a list"),
            ("{by_type: {id: [a, a]}}", "27: #.by_type.id: it has a duplicate name"),
            ("{by_type: {id: []}}", "27: #.by_type.id: 1 to 16 names are taken"),
            ("{types: {type: A}}", "20: #.types is a list, such as [a, b]"),
            ("{types: [A]}", "21: #.types[0] is a mapping of keys to values, not a single value"),
            ("{types: [{key: [a]}]}", "21: #.types[0] needs a type"),
            ("{types: [{type: }]}", "28: #.types[0].type has no value"),
            ("{types: [{type: ''}]}", "28: #.types[0].type: a name has 1 to 256 bytes"),
            (
                "{types: [{type: A, on_delete: omit}]}",
                "31: there is no key '#.types[0].on_delete' (did you mean 'on_deleted'?)"
            ),
            (
                "{types: [{type: A, on_deleted: omitt}]}",
                "43: 'omitt' is none of null, omit, cascade (did you mean 'omit'?)"
            ),
            ("{types: [{type: A, embed: 1}]}", "38: '1' is neither true nor false"),
            (
                "{types: [{type: A}, {type: B}, {type: A}]}",
                "50: #.types[2].type: 'A' has a rule already"
            ),
            ("{types: [{type: A, key: isbn}]}", "36: #.types[0].key is a list, such as [a, b]"),
            ("{types: [{type: A, key: [a, a]}]}", "36: #.types[0].key: it has a duplicate field"),
            (
                "{types: [{type: A, key: [{a: [b], c: [d]}]}]}",
                "37: #.types[0].key[0]: a field is NAME or {NAME: [FIELD, ...]}"
            ),
            (
                "{types: [{type: A, key: [{a: b}]}]}",
                "41: #.types[0].key[0].a is a list, such as [a, b]"
            ),
            ("{types: [{type: A, key: [{a: }]}]}", "36: #.types[0].key: 'a' names no field"),
            (
                "{types: [{type: A, version: updated_at}]}",
                "40: 'updated_at' cannot be read: a JSON pointer is empty or begins with '/' (did you mean '/updated_at'?)"
            ),
            (
                "{types: [{type: A, version: /a~2}]}",
                "40: '/a~2' cannot be read: in a JSON pointer '~' is followed by 0 or 1"
            ),
            (
                "{types: [{type: A, url: 'books/{id}'}]}",
                "36: #.types[0].url: 'books/{id}' is no path such as /books/{isbn}, with a whole field in braces"
            ),
            (
                "{types: [{type: A, key: [a], url: '/{b}'}]}",
                "46: #.types[0].url: '/{b}' names other fields than the key"
            ),
            (
                "{types: [{type: A, lists: {/a: appendd}}]}",
                "43: 'appendd' is none of replace, append (did you mean 'append'?)"
            ),
            (
                "{types: [{type: A, lists: {a: append}}]}",
                "39: 'a' cannot be read: a JSON pointer is empty or begins with '/' (did you mean '/a'?)"
            ),
            (
                "{types: [{type: A, lists: {/a: {bye: id}}}]}",
                "44: there is no key '#.types[0].lists./a.bye' (did you mean 'by'?)"
            ),
            (
                "{types: [{type: A, lists: {/a: {}}}]}",
                "43: #.types[0].lists./a is replace, append, {append: PARAMETER} or {by: NAME}"
            ),
            (
                "{types: [{type: A, lists: {/a: {by: id, append: page}}}]}",
                "52: #.types[0].lists./a has one of by and append"
            ),
            ("{types: [{type: A, lists: {/a: ~}}]}", "43: #.types[0].lists./a has no value"),
            (
                "{types: [{type: A, lists: {/a: append, /a/b: append}}]}",
                "38: #.types[0].lists: '/a/b' lies within '/a'"
            ),
            (
                "{types: [{type: A, lists: {/a: append, /a: replace}}]}",
                "51: duplicate key '/a'"
            ),
            ("{paths: [{url: /a, type: A}]}", "21: #.paths[0] needs a url, an at and a type"),
            ("{paths: [{url: /a, at: , type: A}]}", "35: #.paths[0].at has no value"),
            (
                "{paths: [{url: /a*, at: /b, type: A}]}",
                "27: #.paths[0].url: in '/a*' a '*' is not a whole segment"
            ),
            (
                "{types: [{type: A, embed: true}], paths: [{url: /a, at: /b, type: A}]}",
                "78: #.paths[0].type: 'A' is embedded by the rule of its type"
            ),
        ]
    )
    func refused(text: String, complaint: String) {
        let found = complaints("origins: {\n a: {base_url: http://a.b,\nnormalize: \(text)}}")
        let expected = complaint.replacing("#", with: "origins.a.normalize")
        #expect(found == ["larder.yaml:3:" + expected])
    }

    @Test("All that is wrong is told, not only the first")
    func several() {
        let found = complaints(
            """
            origins:
              a:
                base_url: http://a.b
                normalize:
                  by_type: {kind: [a]}
                  types:
                    - {type: A, url: /a, embd: true}
                    - {type: B, version: v}
                  paths:
                    - at: /a
            """
        )
        #expect(
            found == [
                "larder.yaml:5:17: there is no key 'origins.a.normalize.by_type.kind'",
                "larder.yaml:7:30: there is no key 'origins.a.normalize.types[0].embd' (did you mean 'embed'?)",
                "larder.yaml:8:30: 'v' cannot be read: a JSON pointer is empty or begins with '/' (did you mean '/v'?)",
                "larder.yaml:10:11: origins.a.normalize.paths[0] needs a url, an at and a type",
            ]
        )
    }

    @Test("More than is taken is refused, also where it refers to itself by anchors")
    func limits() {
        func expect(_ rules: String, _ complaint: String) {
            let found = complaints("origins: {a: {base_url: http://a.b, normalize: \(rules)}}")
            #expect(found.count == 1 && found.first?.hasSuffix(complaint) == true, "\(found)")
        }
        func list(_ count: Int, _ element: (Int) -> String) -> String {
            "[\((0..<count).map(element).joined(separator: ", "))]"
        }
        let types = list(Limits.typeRulesMax + 1) { "{type: T\($0)}" }
        expect("{types: \(types)}", "normalize.types: at most 1000 are taken")
        let paths = list(Limits.pathRulesMax + 1) { "{url: /a, at: /b\($0), type: A}" }
        expect("{paths: \(paths)}", "normalize.paths: at most 1000 are taken")
        let names = list(Limits.ruleNamesMax + 1) { "n\($0)" }
        expect("{by_type: {id: \(names)}}", "normalize.by_type.id: at most 16 are taken")
        expect("{types: [{type: A, key: \(names)}]}", "types[0].key: at most 16 are taken")
        let lists = (0...Limits.listRulesMax).map { "/l\($0): append" }.joined(separator: ", ")
        expect("{types: [{type: A, lists: {\(lists)}}]}", "lists: at most 64 are taken")
        let (open, close) = (
            String(repeating: "[{a: ", count: 8), String(repeating: "}]", count: 8)
        )
        expect(
            "{types: [{type: A, key: \(open)[b]\(close)}]}",
            "a[0].a: it is nested more than 8 deep"
        )
        let long = String(repeating: "a", count: Limits.ruleNameBytesMax + 1)
        expect("{types: [{type: \(long)}]}", "types[0].type: a name has 1 to 256 bytes")
        let deep = String(repeating: "/a", count: Limits.rulePathTokensMax + 1)
        expect(
            "{types: [{type: A, version: \(deep)}]}",
            "types[0].version: a pointer has at most 32 tokens, and here one or more"
        )
        // 4 to the power of 8 fields by anchors, of which no more than the limit are looked at.
        var laughs = "[&k0 [b]"
        for depth in 1...7 {
            let inner = (0..<4).map { "{n\($0): *k\(depth - 1)}" }.joined(separator: ", ")
            laughs += ", &k\(depth) [\(inner)]"
        }
        let found = complaints(
            "origins: {a: {base_url: http://a.b, redirect_hosts: \(laughs)], normalize: "
                + "{types: [{type: A, key: *k7}]}}}"
        )
        #expect(found.last?.hasSuffix("at most 16 fields are taken") == true, "\(found)")
        #expect(found.count < 50)
    }

    @Test("A file of rules is read by itself, with its places")
    func file() throws {
        let folder = try TemporaryDirectory()
        try folder.write("rules.yaml", "by_type: true\n")
        #expect(
            try NormalizeRules.load(file: folder.path("rules.yaml"))
                == NormalizeRules(byType: .standard)
        )
        try folder.write("rules.json", #"{"types": [{"type": "A", "key": ["a"]}]}"#)
        #expect(
            try NormalizeRules.load(file: folder.path("rules.json"))
                == NormalizeRules(types: [
                    TypeRule(type: "A", key: EntityKeyRule([.member("a")]))
                ])
        )
        for (text, complaint) in [
            ("types:\n  - {typ: A}", ":2:6: there is no key 'normalize.types[0].typ'"),
            ("", ": the configuration cannot be read: it holds no rules"),
            ("- a", ":1:1: normalize is a mapping of keys to values, not a list"),
        ] {
            try folder.write("bad.yaml", text)
            let error = #expect(throws: ConfigurationError.self) {
                try NormalizeRules.load(file: folder.path("bad.yaml"))
            }
            let expected = folder.path("bad.yaml") + complaint
            #expect(error?.description.hasPrefix(expected) == true, "\(String(describing: error))")
        }
        #expect(throws: ConfigurationError.self) {
            try NormalizeRules.load(file: folder.path("none.yaml"))
        }
    }
}
