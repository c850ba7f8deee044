import LarderJSON
import LarderModel
import Testing

@testable import LarderNormalize

@Suite("Merging what answers bring")
struct MergingTests {
    @Test("Received members replace, absent members stay, and null is a value (rule 11)")
    func members() throws {
        var store = try PlainStore()
        _ = try store.put(#"{"type":"A","id":1,"a":1,"b":{"x":1,"y":2},"c":[1]}"#)
        #expect(store.changes.values.first == .created)
        _ = try store.put(#"{"type":"A","id":1,"a":null,"b":{"x":1},"d":true}"#)
        #expect(
            try store.entity("A:1")
                == #"{"type":"A","id":1,"a":null,"b":{"x":1},"c":[1],"d":true}"#
        )
        #expect(store.changes.values.first == .members(["a", "b", "d"]))
    }

    @Test("An equal value changes nothing, and types of values count (rule 14)")
    func equality() throws {
        var store = try PlainStore()
        _ = try store.put(
            #"{"type":"A","id":1,"t":true,"n":1.0,"s":"1","o":{"a":1,"b":[]},"u":"é","z":null}"#
        )
        let before = try store.entity("A:1")
        _ = try store.put(
            #"{"n":1e0,"id":1,"type":"A","o":{ "b":[], "a":1.00 },"u":"\u00e9","s":"\u0031"}"#
        )
        #expect(store.changes.values.first == .nothing)
        #expect(try store.entity("A:1") == before)
        for (member, value) in [
            ("t", "1"), ("t", "\"true\""), ("n", "true"), ("n", "\"1.0\""), ("n", "1.01"),
            ("s", "1"), ("o", #"{"a":1}"#), ("o", #"{"a":1,"b":{}}"#), ("z", "0"), ("z", "false"),
            ("u", #""e\u0301""#),
        ] {
            var store = store
            _ = try store.put(#"{"type":"A","id":1,"\#(member)":\#(value)}"#)
            #expect(store.changes.values.first == .members([member]), "\(member): \(value)")
        }
    }

    @Test("References are compared by key, and half a surrogate pair only with itself")
    func references() throws {
        var store = try PlainStore()
        _ = try store.put(#"{"type":"A","id":1,"r":[{"type":"B","id":1}],"u":"\ud800"}"#)
        _ = try store.put(#"{"type":"A","id":1,"r":[ {"id":"1","type":"B"} ],"u":"\uD800"}"#)
        #expect(store.changes[try EntityKey("A:1")] == .nothing)
        _ = try store.put(#"{"type":"A","id":1,"r":[{"id":"2","type":"B"}],"u":"\ud801"}"#)
        #expect(store.changes[try EntityKey("A:1")] == .members(["r", "u"]))
        _ = try store.put(#"{"type":"A","id":1,"r":[0],"u":"\ufffd"}"#)
        #expect(store.changes[try EntityKey("A:1")] == .members(["r", "u"]))
        #expect(try store.entity("B:1") == #"{"type":"B","id":"1"}"#)
    }

    @Test("In an answer with a key twice the last value of a member wins, counted (rule 12)")
    func twice() throws {
        var store = try PlainStore()
        let text =
            #"[{"type":"A","id":1,"a":1,"b":1},{"type":"A","id":1,"a":2},{"type":"B","id":1}]"#
        let answer = try store.put(text)
        #expect(store.contradictions == 1)
        #expect(try store.entity("A:1") == #"{"type":"A","id":1,"a":2,"b":1}"#)
        #expect(try store.text(of: answer) == text)
        // What comes back to what was held has not changed.
        _ = try store.put(#"[{"type":"A","id":1,"a":3},{"type":"A","id":1,"a":2.0}]"#)
        #expect(store.changes[try EntityKey("A:1")] == .nothing)
        #expect(store.contradictions == 1)
        _ = try store.put(#"[{"type":"A","id":1,"a":2},{"type":"A","id":1,"a":2.0}]"#)
        #expect(store.contradictions == 0)
        // An entity in itself: the inner one begins later.
        _ = try store.put(#"{"type":"C","id":1,"in":{"type":"C","id":1,"a":"inner"},"a":"outer"}"#)
        #expect(try store.entity("C:1") == #"{"type":"C","id":1,"in":"C:1","a":"inner"}"#)
    }

    @Test("A fetch that started before the last applied one overwrites nothing (rule 13)")
    func lateFetch() throws {
        var store = try PlainStore()
        let new = try store.put(#"{"type":"A","id":1,"a":"new"}"#, fetch: 5)
        let late = try store.put(#"{"type":"A","id":1,"a":"old","b":"old"}"#, fetch: 4)
        #expect(try store.entity("A:1") == #"{"type":"A","id":1,"a":"new","b":"old"}"#)
        #expect(store.changes.values.first == .members(["b"]))
        #expect(try store.text(of: late) == #"{"type":"A","id":1,"a":"new","b":"old"}"#)
        #expect(try store.text(of: new) == #"{"type":"A","id":1,"a":"new"}"#)
        _ = try store.put(#"{"type":"A","id":1,"a":"same time"}"#, fetch: 5)
        #expect(try store.entity("A:1").contains("same time"))
        try store.delete("A:1")
        _ = try store.put(#"{"type":"A","id":1,"a":"late"}"#, fetch: 4)
        guard case .deleted = try store.held(EntityKey("A:1")) else {
            Issue.record("a late answer has brought it back")
            return
        }
        _ = try store.put(#"{"type":"A","id":1,"c":"back"}"#)
        #expect(try store.entity("A:1") == #"{"type":"A","id":1,"c":"back"}"#)
    }

    @Test(
        "With a version the higher one stays, whichever fetch brought it (rule 13)",
        arguments: [
            ("2", "1", false), ("2", "10", true), ("2", "2.5", true), ("10", "9", false),
            ("1e2", "99.9", false), (#""2026-01-02""#, #""2026-01-01""#, false),
            (#""2026-01-02""#, #""2026-01-03""#, true),
            // Not to be compared, or equal: the fetches count.
            ("2", #""1""#, true), ("2", "null", true), ("2", "2.0", true), ("true", "1", true),
        ]
    )
    func version(held: String, came: String, isTaken: Bool) throws {
        let version = MemberPath(tokens: ["meta", "v"])
        var store = try PlainStore(
            NormalizeRules(byType: .standard, types: [TypeRule(type: "A", version: version)])
        )
        _ = try store.put(#"{"type":"A","id":1,"a":"held","meta":{"v":\#(held)}}"#, fetch: 1)
        _ = try store.put(#"{"type":"A","id":1,"a":"came","meta":{"v":\#(came)}}"#, fetch: 2)
        #expect(try store.entity("A:1").contains("came") == isTaken)
        if isTaken, held == "2", came == "10" {
            _ = try store.put(#"{"type":"A","id":1,"a":"third","meta":{"v":11}}"#, fetch: 0)
            #expect(try store.entity("A:1").contains("third"))
        }
    }

    @Test("A list is replaced, united by key or by a member, as the rule says")
    func lists() throws {
        let append = MemberPath(tokens: ["l"])
        let by = MemberPath(tokens: ["deep", "m"])
        var store = try PlainStore(
            NormalizeRules(
                byType: .standard,
                types: [TypeRule(type: "A", lists: [append: .append, by: .by("k")])]
            )
        )
        func b(_ ids: Int...) -> String {
            ids.map { #"{"type":"B","id":\#($0)}"# }.joined(separator: ",")
        }
        let first = try store.put(#"{"type":"A","id":1,"l":[\#(b(1, 2))],"r":[\#(b(1))]}"#)
        let second = try store.put(#"{"type":"A","id":1,"l":[ \#(b(3, 2)) ],"r":[]}"#)
        #expect(try store.entity("A:1") == #"{"type":"A","id":1,"l":["B:1","B:2","B:3"],"r":[]}"#)
        #expect(store.changes[try EntityKey("A:1")] == .members(["l", "r"]))
        #expect(
            try store.text(of: first) == #"{"type":"A","id":1,"l":[\#(b(1, 2, 3))],"r":[]}"#
        )
        #expect(try store.text(of: second) == #"{"type":"A","id":1,"l":[ \#(b(3, 2)) ],"r":[]}"#)
        _ = try store.put(#"{"type":"A","id":1,"l":[\#(b(2))]}"#)
        #expect(store.changes[try EntityKey("A:1")] == .nothing)
        // Something that is no entity: replaced.
        _ = try store.put(#"{"type":"A","id":1,"l":[\#(b(2)),7]}"#)
        #expect(try store.entity("A:1") == #"{"type":"A","id":1,"l":["B:2",7],"r":[]}"#)
        // By a member, inside of an embedded object that is replaced otherwise.
        _ = try store.put(#"{"type":"A","id":1,"deep":{"m":[{"k":1,"v":1},{"k":"1"}],"x":1}}"#)
        _ = try store.put(#"{"type":"A","id":1,"deep":{"y":2,"m":[{"k":2},{"k":1,"v":2}]}}"#)
        #expect(
            try store.entity("A:1").contains(
                #""deep":{"y":2,"m":[{"k":1,"v":2},{"k":"1"},{"k":2}]}"#
            )
        )
        // A number is told from others by what it is worth.
        _ = try store.put(#"{"type":"A","id":1,"deep":{"m":[{"k":20e-1,"v":3}]}}"#)
        #expect(
            try store.entity("A:1").contains(
                #""deep":{"m":[{"k":1,"v":2},{"k":"1"},{"k":20e-1,"v":3}]}"#
            )
        )
        _ = try store.put(#"{"type":"A","id":1,"deep":{"m":[{"v":2}]}}"#)
        #expect(try store.entity("A:1").contains(#""deep":{"m":[{"v":2}]}"#))
    }

    @Test("An entity that would be too large keeps what the last answer said of it")
    func entityLimit() throws {
        var store = try PlainStore()
        _ = try store.put(#"{"type":"A","id":1,"a":"12345","b":2}"#)
        guard case .present(let base, _) = try store.held(EntityKey("A:1")) else {
            Issue.record("it is not there")
            return
        }
        // The names and values of all are 22 bytes in five members.
        let split = try store.split(#"{"type":"A","id":1,"b":3,"c":4}"#)
        let now = #"{"type":"A","id":1,"b":3,"c":4}"#
        for (members, bytes, forgotten) in [
            (5, 22, []), (4, 22, ["a"]), (5, 21, ["a"]),
        ] as [(Int, Int, [String])] {
            let (body, change) = split.body.withUnsafeBytes { text in
                var merging = EntityMerging(
                    split,
                    text,
                    base: base,
                    membersMax: members,
                    bytesMax: bytes
                )
                merging.apply(0, isLate: false)
                return merging.finished()
            }
            #expect(change == .members(["b", "c"] + forgotten))
            let entity = try #require(body)
            let rebuilder = Rebuilder(store.rules, bytesMax: 1 << 10)
            let held = HeldEntity.present(entity, EntityStamp(version: nil, fetch: 1))
            let outcome = try rebuilder.show(EntityKey("A:1")) { _ in held }
            guard case .shown(let answer) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            let text = String(decoding: answer.bytes, as: UTF8.self)
            #expect((text == now) == !forgotten.isEmpty)
        }
    }

    @Test("Pages of a list are added, and the first one starts it again where it has changed")
    func pages() throws {
        let rule = TypeRule(type: "A", lists: [MemberPath(tokens: ["l"]): .pages("page")])
        var store = try PlainStore(NormalizeRules(byType: .standard, types: [rule]))
        // The query, what it brings, and what is held then.
        let steps: [(Substring?, [Int], [Int])] = [
            ("page=2", [3, 4], [3, 4]), ("page=1", [1, 2], [1, 2]),
            ("x=1&page=2", [3, 4], [1, 2, 3, 4]), ("page=1", [1, 2], [1, 2, 3, 4]),
            ("page=3&x", [5, 2], [1, 2, 3, 4, 5]), ("x=page", [1, 2, 3], [1, 2, 3, 4, 5]),
            // The server has deleted 2.
            ("", [1, 3], [1, 3]), ("page=2", [4], [1, 3, 4]), ("page=0", [], []),
            ("page", [0], [0]), ("page=", [0, 1], [0, 1]), ("page=10", [2], [0, 1, 2]),
            // What a write was answered is no page.
            (nil, [9], [0, 1, 2, 9]),
        ]
        for (query, brought, held) in steps {
            let items = brought.map { #"{"type":"B","id":\#($0)}"# }.joined(separator: ",")
            let text = #"{"type":"A","id":1,"l":[\#(items)]}"#
            _ = try store.put(try store.split(text, query: query))
            let keys = held.map { "\"B:\($0)\"" }.joined(separator: ",")
            let entity = try store.entity("A:1")
            #expect(entity == #"{"type":"A","id":1,"l":[\#(keys)]}"#, "\(query ?? "")")
        }
    }

    @Test("Lists that one answer has too often are replaced and not united any more")
    func unitedLimit() throws {
        let rule = TypeRule(type: "A", lists: [MemberPath(tokens: ["l"]): .append])
        let store = try PlainStore(NormalizeRules(byType: .standard, types: [rule]))
        let texts = (1...3).map { #"{"type":"A","id":1,"l":[{"type":"B","id":\#($0)}]}"# }
        let split = try store.split("[\(texts.joined(separator: ","))]")
        // One and one, then two and one, each with its list.
        for (unitedMax, keys) in [(9, ["B:1", "B:2", "B:3"]), (8, ["B:3"])] {
            let (body, _) = split.body.withUnsafeBytes { text in
                var merging = EntityMerging(
                    split,
                    text,
                    base: nil,
                    unitedMax: unitedMax
                )
                for occurrence in [0, 2, 4] { merging.apply(occurrence, isLate: false) }
                return merging.finished()
            }
            #expect(body?.references.map(\.key.text) == keys)
        }
    }

    @Test("A list grows up to its limit; one that would be longer is replaced")
    func listLimit() throws {
        func list(_ ids: Int...) throws -> PlaceholderJSON {
            var builder = CutBuilder()
            builder.text(Array("[".utf8))
            for (place, id) in ids.enumerated() {
                if place > 0 { builder.text(Array(",".utf8)) }
                builder.reference(try EntityKey("B:\(id)"))
            }
            builder.text(Array("]".utf8))
            builder.finish()
            return try #require(builder.text)
        }
        #expect(Limits.mergedElementsMax == 200_000)
        let rules = [EntityRules.OfList(path: [], rule: .append)]
        let fits = ListMerge(held: try list(1, 2), came: try list(2, 3), elementsMax: 3)
        #expect(
            fits.merged(by: rules)?.text?.keys.map { String(decoding: $0, as: UTF8.self) }
                == ["B:1", "B:2", "B:3"]
        )
        let tooLong = ListMerge(held: try list(1, 2, 4), came: try list(2, 3), elementsMax: 3)
        #expect(tooLong.merged(by: rules) == nil)
        let bytes = try #require(fits.merged(by: rules)).bytes.count
        for (bytesMax, isUnited) in [(bytes, true), (bytes - 1, false)] {
            let merge = ListMerge(held: try list(1, 2), came: try list(2, 3), bytesMax: bytesMax)
            #expect((merge.merged(by: rules) != nil) == isUnited)
        }
    }
}
