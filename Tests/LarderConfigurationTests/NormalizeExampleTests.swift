import LarderAPI
import LarderJSON
import LarderModel
import LarderNormalize
import Testing

@testable import LarderConfiguration

/// The worked examples of rules in `config/larder.yaml` do what their comments say.
@Suite("Rules in the manual")
struct NormalizeExampleTests {
    /// The lines of the manual about `normalize`, without what puts them out of force.
    private func lines() throws -> [Substring] {
        let path = treeRoot() + "/config/larder.yaml"
        let manual = try #require(try configurationText(of: path))
        return manual.split(separator: "\n").compactMap { line in
            line.hasPrefix("#    # ") ? line.dropFirst("#    # ".count) : nil
        }
    }

    /// The examples in their order: `normalize:` and what is indented below it.
    private func examples() throws -> [NormalizeRules] {
        let lines = try lines()
        return try lines.indices.filter { lines[$0] == "normalize:" }.map { start in
            let body = lines[(start + 1)...].prefix { $0.hasPrefix(" ") }
            let text = (["normalize:"] + body).map { "    \($0)\n" }.joined()
            let read = try configuration(
                "origins:\n  example:\n    base_url: https://api.example.com\n" + text
            )
            return try #require(read.origins[0].normalize)
        }
    }

    @Test("There are four, and each key of a rule is explained")
    func complete() throws {
        #expect(try examples().count == 4)
        let lines = try lines()
        let keys =
            APIDecoder.memberNames(of: OriginNormalize.self)
            + APIDecoder.memberNames(of: OriginTypeRule.self)
            + APIDecoder.memberNames(of: OriginPathRule.self)
        for key in keys {
            let isExplained = lines.contains { line in
                let line = line.drop { $0 == " " }
                return [":", " ", ","].contains { line.hasPrefix(key + $0) }
            }
            #expect(isExplained, "\(key)")
        }
    }

    @Test("Where objects have __typename, nothing else is needed")
    func typename() throws {
        var store = ExampleStore(try examples()[0])
        let keys = try store.put(
            #"{"data":{"hero":{"__typename":"Droid","id":"2001","name":"R2-D2","friends":"#
                + #"[{"__typename":"Human","id":"1000"},{"id":"1003"}]}}}"#
        )
        #expect(keys == ["Droid:2001", "Human:1000"])
    }

    @Test("Where objects have a type, each type's rule says the rest")
    func types() throws {
        var store = ExampleStore(try examples()[1])
        let review =
            #"{"type":"Review","id":1,"of":{"type":"Book","isbn":"9-8","updated_at":5,"title":"new","#
            + #""price":{"type":"Price","id":3,"sum":1},"publisher":{"type":"Publisher","id":7}}}"#
        #expect(try store.put(review) == ["Review:1", "Book:9-8", "Publisher:7"])
        let others =
            #"[{"type":"Play","title":"Faust","author":{"name":"Goethe"}},{"type":"Settings","a":1}]"#
        #expect(
            try store.put(others) == [
                #"Play:{"title":"Faust","author":{"name":"Goethe"}}"#, "Settings:{}",
            ]
        )
        // A lower version comes later and is not taken.
        _ = try store.put(#"{"type":"Book","isbn":"9-8","updated_at":4,"title":"old"}"#)
        #expect(try store.text("Book:9-8").contains(#""title":"new""#))
        // The embedded price is no entity, so the book has it.
        #expect(try store.text("Book:9-8").contains(#""price":{"type":"Price","id":3,"sum":1}"#))
        try store.delete("Publisher:7")
        #expect(try !store.text("Book:9-8").contains("publisher"))
        try store.delete("Book:9-8")
        #expect(try store.text("Review:1") == "gone")
        #expect(store.rules.key(ofPath: "/books/9-8")?.text == "Book:9-8")
        #expect(store.rules.key(ofPath: "/settings")?.text == "Settings:{}")
    }

    @Test("Where objects say nothing, their places tell")
    func places() throws {
        var store = ExampleStore(try examples()[2])
        let list =
            #"{"items":[{"id":1,"author":{"login":"ann","name":"Ann"}},{"id":2,"author":null}]}"#
        #expect(try store.put(list, path: "/articles") == ["Article:1", "User:ann", "Article:2"])
        let article = #"{"id":1,"title":"One","author":{"login":"ann","name":"Anne"}}"#
        #expect(try store.put(article, path: "/articles/1") == ["Article:1", "User:ann"])
        #expect(try store.put(#"{"login":"bob"}"#, path: "/users/bob") == ["User:bob"])
        #expect(try store.put(#"{"id":1}"#, path: "/elsewhere") == [])
        #expect(try store.text("User:ann") == #"{"login":"ann","name":"Anne"}"#)
        #expect(store.rules.key(ofPath: "/users/ann")?.text == "User:ann")
    }

    @Test("Where lists come page by page, they grow")
    func pages() throws {
        var store = ExampleStore(try examples()[3])
        _ = try store.put(
            #"{"type":"Article","id":1,"comments":[{"type":"C","id":1},{"type":"C","id":2}],"#
                + #""shop":{"prices":[{"currency":"EUR","sum":1},{"currency":"USD","sum":2}]},"tags":[1]}"#
        )
        _ = try store.put(
            #"{"type":"Article","id":1,"comments":[{"type":"C","id":2},{"type":"C","id":3}],"#
                + #""shop":{"prices":[{"currency":"EUR","sum":9}]},"tags":[2]}"#
        )
        #expect(
            try store.text("Article:1")
                == #"{"type":"Article","id":1,"comments":["C:1","C:2","C:3"],"#
                + #""shop":{"prices":[{"currency":"EUR","sum":9},{"currency":"USD","sum":2}]},"tags":[2]}"#
        )
    }
}

/// Entities in memory, as answers bring them.
private struct ExampleStore {
    let rules: EntityRules
    private var held: [EntityKey: HeldEntity] = [:]
    private var fetches: Int64 = 0

    init(_ rules: NormalizeRules) {
        self.rules = EntityRules(rules)
    }

    /// The keys of an answer's entities, which it merges into what is held.
    mutating func put(_ text: String, path: String = "/") throws -> [String] {
        switch Splitter(rules).split(Array(text.utf8), path: path) {
        case .whole(.noEntity, _): return []
        case .whole(let reason, _):
            Issue.record("\(reason)")
            return []
        case .split(let split):
            fetches += 1
            for (number, key) in split.keys.enumerated() {
                let merged = split.merged(
                    number,
                    into: held[key] ?? .unknown,
                    fetch: fetches
                )
                held[key] = merged.held
            }
            return split.keys.map { "\($0.type):\($0.id)" }
        }
    }

    mutating func delete(_ key: String) throws {
        fetches += 1
        held[try EntityKey(key)] = .deleted(EntityStamp(version: nil, fetch: fetches))
    }

    /// The text of an entity; `gone` where it counts as deleted.
    func text(_ key: String) throws -> String {
        let outcome = try Rebuilder(rules, bytesMax: 65_536)
            .show(EntityKey(key), expanding: 0) { held[$0] ?? .unknown }
        switch outcome {
        case .shown(let shown): return String(decoding: shown.bytes, as: UTF8.self)
        case .deleted: return "gone"
        case .evicted, .tooLarge: return "\(outcome)"
        }
    }
}
