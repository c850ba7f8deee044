import LarderModel
import LarderWire
import Testing

@Suite("Ids in paths")
struct PathTests {
    @Test("An id goes into a path and comes back")
    func idInPath() throws {
        let id = try EntryID("https://a.example/é?b=c d&e=%2F+#~")
        let path = PercentCoding.entryPath(id)
        #expect(
            path == "/v1/entries/https%3A%2F%2Fa.example%2F%C3%A9%3Fb%3Dc%20d%26e%3D%252F%2B%23~"
        )
        #expect(try PercentCoding.id(inPath: path.dropFirst("/v1/entries/".count)) == id)
        #expect(try PercentCoding.id(inPath: "https://a/b+c").text == "https://a/b+c")
    }

    @Test(
        "Text that is not an id in a path is refused as bad-id",
        arguments: ["", "%", "%0A", "a%00", "%FF", "a%7Fb", String(repeating: "a", count: 8_193)]
    )
    func badID(path: String) {
        let problem = #expect(throws: Problem.self) { try PercentCoding.id(inPath: path[...]) }
        #expect(problem?.kind == .badID)
    }
}

@Suite("Base64")
struct Base64Tests {
    @Test(
        "The vectors of RFC 4648 come out and back",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
        ]
    )
    func vectors(plain: String, encoded: String) {
        #expect(Base64.encode(bytes(plain)) == encoded)
        #expect(Base64.decode(encoded) == bytes(plain))
    }

    @Test("All bytes come back")
    func allBytes() {
        let all = (0..<3).flatMap { _ in Array(UInt8.min...UInt8.max) }
        for length in [all.count, all.count - 1, all.count - 2] {
            let part = Array(all[..<length])
            #expect(Base64.decode(Base64.encode(part)) == part)
        }
    }

    @Test(
        "Base64 that is not canonical is refused",
        arguments: [
            "Z", "Zg", "Zg=", "Zg===", "Z===", "====", "Zh==", "Zm9=", "Zg==Zg==", "Zm 9", "Z-_=",
        ]
    )
    func refused(text: String) {
        #expect(Base64.decode(text) == nil)
    }
}
