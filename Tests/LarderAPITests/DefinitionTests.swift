import Testing

@testable import LarderAPI

@Suite("Keys of an origin in a request")
struct DefinitionTests {
    private func read(_ json: String) throws -> OriginDefinition {
        try APIDecoder(.strict).decode(from: Array(json.utf8))
    }

    private func message(_ json: String) -> String {
        do throws(APIDecodingError) {
            _ = try APIDecoder(.strict).decode(OriginDefinition.self, from: Array(json.utf8))
            return "none"
        } catch {
            return error.message
        }
    }

    @Test("A request needs the base URL alone")
    func base() throws {
        let definition = try read(#"{"base_url":"https://a.example"}"#)
        #expect(definition == OriginDefinition(baseURL: "https://a.example"))
        #expect(message("{}") == "the member 'base_url' is missing")
    }

    @Test("Values of several shapes are read and written")
    func shapes() throws {
        let rules = #"""
            {"by_type":true,"types":[{"type":"A","key":["a",{"b":["c"]}],"url":null,\#
            "version":null,"lists":{"/a":"replace","/b":"append","/c":{"append":"page"},\#
            "/d":{"by":"id"}},"embed":null,"on_deleted":"omit"}],"paths":null}
            """#
        let value = try APIDecoder(.strict).decode(
            OriginNormalize.self,
            from: Array(rules.utf8)
        )
        #expect(value.byType == .standard)
        #expect(value.types?.first?.key == [.member("a"), .within("b", [.member("c")])])
        #expect(value.types?.first?.lists?["/c"] == .pages(parameter: "page"))
        #expect(String(decoding: APIEncoder().encode(value), as: UTF8.self) == rules)
    }

    @Test(
        "A rule of refused_if takes a string, number, boolean or null, and has its text (S37)",
        arguments: [
            ("false", "false"), ("true", "true"), ("0", "0"), ("1.50", "1.50"), ("null", "null"),
            (#""false""#, "false"), (#""failed""#, "failed"),
        ]
    )
    func refusedValue(json: String, text: String) throws {
        let fetch = try APIDecoder(.strict).decode(
            OriginFetch.self,
            from: Array(#"{"refused_if":[{"pointer":"/ok","equals":\#(json)}]}"#.utf8)
        )
        let rule = OriginRefusalRule(pointer: "/ok", equals: text)
        #expect(fetch.refusedIf == [rule])
        #expect(
            String(decoding: APIEncoder().encode(rule), as: UTF8.self)
                == #"{"pointer":"/ok","equals":"\#(text)"}"#
        )
    }

    @Test(
        "A mistake in an origin's definition is named with its place",
        arguments: [
            (
                #""fetch":{"timeuot":"1s"}"#,
                "unknown member 'timeuot' in 'fetch', did you mean 'timeout'?"
            ),
            (#""fetch":{"timeout":1}"#, "'fetch.timeout' is a number, a string is needed"),
            (
                #""fetch":{"policy":"cache-frist"}"#,
                "fetch.policy: 'cache-frist' is unknown, did you mean 'cache-first'?"
            ),
            (#""headers":{"K":1}"#, "'headers.K' is a number, a string is needed"),
            (
                #""fetch":{"refused_if":[{"pointer":"/ok","equals":[1]}]}"#,
                "fetch.refused_if[0]: equals is a string, number, boolean or null"
            ),
            (
                #""normalize":{"types":[{"type":"A","lists":{"/a":"apend"}}]}"#,
                "normalize.types[0].lists./a: 'apend' is neither replace nor append"
            ),
            (
                #""normalize":{"types":[{"type":"A","lists":{"/a":{"bye":"x"}}}]}"#,
                "unknown member 'bye' in 'normalize.types[0].lists./a', did you mean 'by'?"
            ),
            (
                #""normalize":{"paths":[{"url":"/a","at":""}]}"#,
                "the member 'type' in 'normalize.paths[0]' is missing"
            ),
            (
                #""normalize":{"types":[{"type":"A","key":[1]}]}"#,
                "'normalize.types[0].key[0]' is a number, an object is needed"
            ),
        ]
    )
    func refusals(member: String, expected: String) {
        #expect(message(#"{"base_url":"https://a.example",\#(member)}"#) == expected)
    }
}
