import LarderJSON
import Testing

@Suite("The JSON tokenizer")
struct JSONTokenizerTests {
    private func tokens(_ text: String) throws -> [(JSONToken.Kind, String, Bool)] {
        let bytes = Array(text.utf8)
        return try bytes.withUnsafeBytes { buffer in
            var tokenizer = JSONTokenizer(buffer)
            var found: [(JSONToken.Kind, String, Bool)] = []
            while let token = try tokenizer.next() {
                let part = String(decoding: bytes[token.range], as: UTF8.self)
                found.append((token.kind, part, token.hasEscapes))
            }
            return found
        }
    }

    @Test("Tokens come in order with the bytes they take")
    func tokensInOrder() throws {
        let found = try tokens(#" {"a" : [1.5, "x\n"],"b\u0041":{} , "c":true,"d":false,"e":null}"#)
        let kinds: [JSONToken.Kind] = [
            .beginObject, .name, .beginArray, .number, .string, .endArray, .name, .beginObject,
            .endObject, .name, .true, .name, .false, .name, .null, .endObject,
        ]
        #expect(found.map(\.0) == kinds)
        #expect(
            found.map(\.1) == [
                "{", "\"a\"", "[", "1.5", #""x\n""#, "]", #""b\u0041""#, "{", "}", "\"c\"", "true",
                "\"d\"", "false", "\"e\"", "null", "}",
            ]
        )
        #expect(found.filter(\.2).map(\.1) == [#""x\n""#, #""b\u0041""#])
    }

    @Test("The depth is that of the open arrays and objects")
    func depth() throws {
        let bytes = Array("[{\"a\":[]}]".utf8)
        let depths = try bytes.withUnsafeBytes { buffer in
            var tokenizer = JSONTokenizer(buffer)
            var depths: [Int] = []
            while try tokenizer.next() != nil { depths.append(tokenizer.depth) }
            return depths
        }
        #expect(depths == [1, 2, 2, 3, 2, 1, 0])
    }
}
