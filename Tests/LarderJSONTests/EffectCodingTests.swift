import LarderJSON
import LarderModel
import LarderTestSupport
import Testing

@Suite("An effect as it travels")
struct EffectCodingTests {
    @Test(
        "An effect is written as it was read, numbers as they were",
        arguments: [
            #"{"type":"put","value":{"n":1.50,"big":1e400}}"#, #"{"type":"put","value":null}"#,
            #"{"type":"merge","value":{"a":null,"a":10e-1}}"#, #"{"type":"replace"}"#,
            #"{"type":"set","value":{"set":{"/a~1b/0":1.0,"":{}},"unset":["/c"]}}"#,
            #"{"type":"set","value":{"set":{},"unset":[]}}"#,
            #"{"type":"add","value":{"/n":1,"/m":-0.10}}"#, #"{"type":"delete"}"#,
            #"{"type":"list_add","value":{"/t":["x"],"/i":{"by":"id","values":[{"id":1}]}}}"#,
            #"{"type":"list_remove","value":{"/i":{"by":"id","values":[1,{"id":2}]}}}"#,
            #"{"type":"none"}"#,
            #"{"type":"patch","value":[{"op":"add","path":"/a","value":1.0},"#
                + #"{"op":"remove","path":"/b"},{"op":"replace","path":"","value":null},"#
                + #"{"op":"move","from":"/a","path":"/b"},{"op":"copy","from":"","path":"/c"},"#
                + #"{"op":"test","path":"/~01","value":[]}]}"#,
        ]
    )
    func written(text: String) throws {
        let effect = try Effect(parsing: Array(text.utf8))
        #expect(String(decoding: effect.bytes, as: UTF8.self) == text)
        #expect(text.contains(#""type":"\#(effect.typeName)""#))
        #expect(Effect.typeNames.contains(effect.typeName))
    }

    @Test("Several effects are a list, without those that change nothing")
    func several() throws {
        let text = #"[{"type":"add","value":{"/n":1}},{"type":"delete"}]"#
        let effect = try Effect(parsing: Array(text.utf8))
        #expect(String(decoding: effect.bytes, as: UTF8.self) == text)
        #expect(effect.counts)
        let one = try Effect(parsing: Array(#"[{"type":"none"},{"type":"delete"}]"#.utf8))
        #expect(one == .delete)
        for text in [#"[{"type":"replace"},{"type":"delete"}]"#, #"[[{"type":"delete"}]]"#] {
            #expect(throws: EffectError.self) { try Effect(parsing: Array(text.utf8)) }
        }
        let list = Array(repeating: #"{"type":"none"}"#, count: 101).joined(separator: ",")
        let many = "[\(list)]"
        #expect(throws: EffectError.self) { try Effect(parsing: Array(many.utf8)) }
    }

    @Test("Several effects apply in their order, all or none")
    func allOrNone() throws {
        let base = TargetContent.json(try JSONValue(parsing: Array(#"{"n":1}"#.utf8)))
        func view(_ text: String) throws -> View {
            View.of(base, [try Effect(parsing: Array(text.utf8))])
        }
        let set = #"{"type":"set","value":{"set":{"/n":5}}}"#
        let add = #"{"type":"add","value":{"/n":1}}"#
        let both = try view("[\(set),\(add)]")
        #expect(both.content == .json(try JSONValue(parsing: Array(#"{"n":6}"#.utf8))))
        let wrong = try view(#"[\#(set),{"type":"add","value":{"/m":1}}]"#)
        #expect(wrong.content == .base && wrong.leftOut.count == 1)
    }

    @Test(
        "A value that is not an effect is refused with the member and the place",
        arguments: [
            ("[]", "the effect is an array, an object is needed"),
            ("{}", "the effect's member '/type' is missing"),
            (#"{"type":1}"#, "the effect's member '/type' is a number, a string is needed"),
            (#"{"type":"put"}"#, "the effect's member '/value' is missing"),
            (
                #"{"type":"put","type":"put","value":1}"#,
                "the effect's member '/type' is given twice"
            ),
            (
                #"{"type":"put","value":1,"values":2}"#,
                "the effect's member '/values' is unknown, did you mean 'value'?"
            ),
            (
                #"{"type":"delete","value":1}"#,
                "the effect's member '/value' is unknown, there are: type"
            ),
            (
                #"{"type":"set","value":[]}"#,
                "the effect's member '/value' is an array, an object is needed"
            ),
            (
                #"{"type":"set","value":{"set":1}}"#,
                "the effect's member '/value/set' is a number, an object is needed"
            ),
            (
                #"{"type":"set","value":{"sets":{}}}"#,
                "the effect's member '/value/sets' is unknown, did you mean 'set'?"
            ),
            (
                #"{"type":"set","value":{"set":{"a":1}}}"#,
                "the effect's member '/value/set/a' cannot be taken: a JSON pointer is empty or begins with '/'"
            ),
            (
                #"{"type":"set","value":{"set":{"/a":1,"/a":2}}}"#,
                "the effect's member '/value/set/~1a' is given twice"
            ),
            (
                #"{"type":"set","value":{"unset":{}}}"#,
                "the effect's member '/value/unset' is an object, an array is needed"
            ),
            (
                #"{"type":"set","value":{"unset":["/a",null]}}"#,
                "the effect's member '/value/unset/1' is null, a string is needed"
            ),
            (
                #"{"type":"set","value":{"unset":[""]}}"#,
                "the effect's member '/value/unset/0' is the whole; that is what delete is for"
            ),
            (
                #"{"type":"add","value":{"/n":"1"}}"#,
                "the effect's member '/value/~1n' is a string, a number is needed"
            ),
            (
                #"{"type":"add","value":{"/n":1e5000}}"#,
                "the effect's member '/value/~1n' has more than 1024 digits"
            ),
            (
                #"{"type":"list_add","value":{"/t":"x"}}"#,
                "the effect's member '/value/~1t' is a string, an array, or an object with 'by' and 'values', is needed"
            ),
            (
                #"{"type":"list_add","value":{"/t":{"values":[]}}}"#,
                "the effect's member '/value/~1t/by' is missing"
            ),
            (
                #"{"type":"list_add","value":{"/t":{"by":"id"}}}"#,
                "the effect's member '/value/~1t/values' is missing"
            ),
            (
                #"{"type":"list_add","value":{"/t":{"by":"id","values":[1]}}}"#,
                "the effect's member '/value/~1t/values/0' is a number without the member 'id'"
            ),
            (
                #"{"type":"list_remove","value":{"/t":{"by":"id","values":[1,{}]}}}"#,
                "the effect's member '/value/~1t/values/1' is an object without the member 'id'"
            ),
            ("{", "the JSON ends too early, at byte 1"),
        ]
    )
    func refused(text: String, message: String) {
        do throws(EffectError) {
            _ = try Effect(parsing: Array(text.utf8))
            Issue.record("taken")
        } catch {
            #expect(error.message == message)
        }
    }

    @Test("A type of the future is told apart from a mistake (case 26)")
    func unknownType() {
        #expect(throws: EffectError.unknownType("multiply")) {
            try Effect(parsing: Array(#"{"type":"multiply","value":2,"more":1}"#.utf8))
        }
    }

    @Test("An effect that can be read can be read again after it was written, up to the deepest")
    func deepest() throws {
        func put(_ depth: Int) -> [UInt8] {
            Array(
                (#"{"type":"put","value":"# + String(repeating: "[", count: depth)
                    + String(repeating: "]", count: depth) + "}").utf8
            )
        }
        let deepest = put(Limits.jsonDepthMax - 1)
        #expect(try Effect(parsing: deepest).bytes == deepest)
        let deeper = try JSONValue(
            parsing: put(Limits.jsonDepthMax),
            depthMax: Limits.frameDepthMax
        )
        #expect(throws: EffectError.malformed(at: .whole, reason: "is nested too deeply")) {
            try Effect(deeper)
        }
    }

    @Test("Random effects come back as they were", arguments: 1...4)
    func roundTrip(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        for _ in 0..<2_000 {
            let value = try random.anyValue(depth: 3)
            let effect = try random.effect(on: value)
            guard try Effect(parsing: effect.bytes) == effect else {
                Issue.record("seed \(seed): \(String(decoding: effect.bytes, as: UTF8.self))")
                return
            }
        }
    }
}
