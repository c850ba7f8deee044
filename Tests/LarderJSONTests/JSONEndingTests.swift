import LarderJSON
import LarderTestSupport
import Testing

@Suite("The end of a JSON text in pieces")
struct JSONEndingTests {
    @Test("Every beginning of an object or a list is cut off, and the whole is not")
    func cuts() throws {
        for text in [
            #"{"a":[1,{"b":"}]\"\\"}],"\\":"[{"}"#, #"[{"a":1},{"a":2},"x\u005d"]"#, "[]", " {} ",
        ] {
            let bytes = Array(text.utf8)
            let start = try #require(bytes.firstIndex { "{[".utf8.contains($0) })
            let end = try #require(bytes.lastIndex { "}]".utf8.contains($0) })
            for cut in (start + 1)...bytes.count {
                for middle in start...cut {
                    var ending = JSONEnding()
                    ending.take(Array(bytes[..<middle]))
                    ending.take(Array(bytes[middle..<cut]))
                    #expect(ending.isCutOff == (cut <= end), "\(text) at \(middle) and \(cut)")
                }
            }
        }
    }
}
