import Foundation
import LarderJSON
import LarderModel
import LarderNormalize
import Testing

@Suite("Rebuilding of unchanged answers (P-11)")
struct RoundTripTests {
    @Test(
        "An answer of any valid spelling comes back as it was",
        arguments: [
            #"{"id":1,"type":"A","n":"x"}"#,
            #" { "id" : 1 , "type" : "A" , "n" : "x" } "#,
            "[\n  {\"type\": \"A\", \"id\": 1},\n  {\"id\": \"2\", \"type\": \"A\", \"n\": [ ]}\n]\n",
            #"{"data":{"list":[{"type":"A","id":1,"by":{"type":"U","id":7,"name":"N"}},{"type":"A","id":2,"by":{"type":"U","id":7,"name":"N"}}]}}"#,
            #"[{"type":"A","id":1,"n":1.0,"m":1e2,"k":-0,"l":1E+2},{"type":"A","id":1,"n":1,"m":100,"k":0,"l":1e2}]"#,
            #"[{"type":"A","id":1,"n":"\u0041\/\u0000","\u006e2":1,"":2},{"type":"A","id":1,"n":"A\/\u0000","n2":1.0,"":2}]"#,
            #"{"type":"A","id":1,"x":"\ud800","\ud800":1,"\ud801":2}"#,
            #"[{"type":"A","id":1,"x":"\ud800"},{"type":"A","id":1,"x":"\ufffd"},{"type":"A","id":1,"x":"\ud801"}]"#,
            #"{"type":"A","id":1,"a":1,"a":2,"b":0,"a":3}"#,
            #"{"type":"A","id":1,"a":{"type":"B","id":1},"a":{"type":"B","id":2},"a":{"type":"B","id":1}}"#,
            #"[{"type":"A","id":1,"v":1},{"type":"A","id":1,"v":2},{"v":3,"type":"A","id":"1"}]"#,
            #"[{"type":"A","id":1,"v":1},{"type":"A","id":1},{"type":"A","id":1,"w":[1, 2]}]"#,
            #"{"type":"A","id":1,"self":{"type":"A","id":1,"self":{"type":"A","id":1}}}"#,
            #"{"type":"A","id":1,"$ref":"A:1","__ref":{"type":"A","id":1},"larder":null}"#,
            #"{"m":{"a":{"type":"A","id":1},"b":{"type":"A","id":2},"c":{"type":"B","id":1}}}"#,
            #"{"type":"A","id":1,"deep":[[[{"x":[{"type":"B","id":2,"y":[]}, 5 ,{"type":"B","id":3}]}]]]}"#,
            #"[{"type":"A","id":1,"l":[{"type":"B","id":1},{"type":"B","id":2}]},{"type":"A","id":1,"l":[{"type":"B","id":2}]}]"#,
            "{\"type\":\"A\",\"id\":1,\"n\":\(String(repeating: "1234567890", count: 40))}",
            #"[{"type":"A","id":1,"é":1,"n":"é"},{"type":"A","id":1,"\u00e9":1,"n":"\u00e9"}]"#,
        ]
    )
    func texts(text: String) throws {
        var store = try PlainStore()
        let answer = try store.put(text)
        #expect(try store.text(of: answer) == text)
        #expect(try store.shown(answer).isComplete)
        let again = try store.put(text)
        #expect(try store.text(of: again) == text)
        #expect(try store.text(of: answer) == text)
    }
}
