import LarderJSON
import LarderTestSupport
import Testing

@Suite("A JSON merge patch")
struct JSONMergeTests {
    @Test(
        "The examples of RFC 7396 give what it says",
        arguments: [
            (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
            (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
            (#"{"a":"b"}"#, #"{"a":null}"#, "{}"),
            (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
            (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
            (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
            (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
            (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#),
            (#"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#),
            (#"{"a":"b"}"#, #"["c"]"#, #"["c"]"#),
            (#"{"a":"foo"}"#, "null", "null"), (#"{"a":"foo"}"#, #""bar""#, #""bar""#),
            (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#),
            ("[1,2]", #"{"a":"b","c":null}"#, #"{"a":"b"}"#),
            ("{}", #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
            (
                #"{"title":"Goodbye!","author":{"givenName":"John","familyName":"Doe"},"tags":["example","sample"],"content":"This will be unchanged"}"#,
                #"{"title":"Hello!","phoneNumber":"+01-123-456-7890","author":{"familyName":null},"tags":["example"]}"#,
                #"{"title":"Hello!","author":{"givenName":"John"},"tags":["example"],"content":"This will be unchanged","phoneNumber":"+01-123-456-7890"}"#
            ),
            (#"{"a":1,"a":2,"b":0}"#, #"{"a":null}"#, #"{"b":0}"#),
            (#"{"a":{"x":1}}"#, #"{"a":{"y":1},"a":{"y":2}}"#, #"{"a":{"x":1,"y":2}}"#),
        ]
    )
    func examples(target: String, patch: String, expected: String) throws {
        let outcome = try Effect.merge(json(patch)).applied(to: .json(json(target)))
        #expect(outcome == .json(try json(expected), isComplete: true), "\(outcome)")
    }

    @Test("A merge patch keeps the order of members, and the spelling of those not in it")
    func order() throws {
        let outcome = try Effect.merge(json(#"{"n":9,"c":3,"a":1}"#))
            .applied(to: .json(json(#"{"c":1.50,"big":1e400,"a":0}"#)))
        #expect(
            outcome == .json(try json(#"{"c":3,"big":1e400,"a":1,"n":9}"#), isComplete: true)
        )
    }

    @Test("A merge that says what is there already changes nothing")
    func unchanged() throws {
        let base = try json(#"{"liked":true,"n":1.0}"#)
        #expect(try Effect.merge(json(#"{"n":1,"x":null}"#)).applied(to: .json(base)) == .unchanged)
    }

    @Test(
        "The difference of two values is a merge that leads from one to the other",
        arguments: [
            (#"{"a":1,"b":2}"#, #"{"a":1,"c":3}"#, #"{"b":null,"c":3}"#),
            (#"{"a":1}"#, #"{"a":1.0}"#, "{}"), (#"{"a":null}"#, #"{"a":null}"#, "{}"),
            (#"{"a":{"x":1,"y":2},"b":{}}"#, #"{"a":{"x":2},"b":{}}"#, #"{"a":{"y":null,"x":2}}"#),
            (#"{"a":[1,{"n":1}]}"#, #"{"a":[1,{"n":null}]}"#, #"{"a":[1,{"n":null}]}"#),
            (#"{"a":5}"#, #"{"a":{}}"#, #"{"a":{}}"#),
            (#"{"a":{"x":1}}"#, #"{"a":{}}"#, #"{"a":{"x":null}}"#),
            ("[1]", #"{"a":1}"#, #"{"a":1}"#), (#"{"a":1}"#, "[1]", "[1]"), ("1", "null", "null"),
            (#"{"liked":false,"count":3}"#, #"{"liked":true,"count":3}"#, #"{"liked":true}"#),
        ]
    )
    func difference(from: String, to other: String, patch: String) throws {
        #expect(try json(from).mergePatch(to: json(other)) == json(patch))
    }

    @Test(
        "Where a member would have to become null there is no merge",
        arguments: [
            (#"{"a":1}"#, #"{"a":null}"#), ("{}", #"{"a":null}"#), ("{}", #"{"a":{"b":null}}"#),
            (#"{"a":{"b":1}}"#, #"{"a":{"b":null}}"#), ("1", #"{"a":null}"#),
            (#"{"a":[]}"#, #"{"a":{"b":{"c":null}}}"#),
        ]
    )
    func noDifference(from: String, to other: String) throws {
        #expect(try json(from).mergePatch(to: json(other)) == nil)
    }

    @Test("A difference leads there from any value to any other", arguments: 1...4)
    func differences(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var counts = [true: 0, false: 0]
        for _ in 0..<4_000 {
            let from = try random.anyValue(depth: 3)
            let other =
                try random.count(0...1) == 0
                ? random.respelled(from) : random.anyValue(depth: 3)
            let patch = from.mergePatch(to: other)
            counts[patch != nil, default: 0] += 1
            guard let patch else {
                #expect(other.text.contains("null"), "seed \(seed): \(from.text) to \(other.text)")
                continue
            }
            let isThere: Bool
            switch Effect.merge(patch).applied(to: .json(from)) {
            case .json(let value, _): isThere = value.isSame(as: other)
            case .unchanged: isThere = from.isSame(as: other)
            case .body, .deleted, .inapplicable: isThere = false
            }
            guard isThere else {
                Issue.record("seed \(seed): \(from.text) to \(other.text) by \(patch.text)")
                return
            }
        }
        #expect(counts.values.allSatisfy { $0 > 50 }, "seed \(seed): \(counts)")
    }
}
