import LarderModel
import LarderWire
import Testing

@Suite("Queries and percent-encoding")
struct QueryParametersTests {
    @Test("Parameters are decoded as a form's and taken by name")
    func taking() throws {
        var parameters = try QueryParameters("a=1&b=x+y%2B%20z&&c&d=&e%3D=%3d=&f=%C3%A9")
        #expect(parameters.take("b") == "x y+ z")
        #expect(parameters.take("a") == "1")
        #expect(parameters.take("a") == nil)
        #expect(parameters.take("c") == "")
        #expect(parameters.take("d") == "")
        #expect(parameters.take("e=") == "==")
        #expect(parameters.take("f") == "é")
        #expect(parameters.take("z") == nil)
        try parameters.refuseRest()
    }

    @Test("A parameter that nobody took is refused by name")
    func unknown() throws {
        var parameters = try QueryParameters("a=1&colour=red")
        _ = (parameters.take("b"), parameters.take("a"))
        let problem = #expect(throws: Problem.self) { try parameters.refuseRest(hint: "h") }
        #expect(
            problem
                == Problem(
                    .unknownParameter,
                    "unknown query parameter 'colour', there are: a, b",
                    hint: "h"
                )
        )
    }

    @Test("A parameter that is given twice is refused by name")
    func twice() throws {
        var parameters = try QueryParameters("a=1&b=2&%61=3")
        _ = (parameters.take("a"), parameters.take("b"))
        let problem = #expect(throws: Problem.self) { try parameters.refuseRest() }
        #expect(problem == Problem(.badRequest, "the query parameter 'a' is given twice"))
    }

    @Test(
        "Bad percent-encoding and bad UTF-8 are refused",
        arguments: ["a=%", "a=%4", "a=%zz", "a=%+1", "%=1", "a=%C3", "a=%FF", "a=%ED%A0%80"]
    )
    func badEncoding(query: String) {
        let problem = #expect(throws: Problem.self) { try QueryParameters(query[...]) }
        #expect(problem?.kind == .badRequest)
    }

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
        "What is no id in a path is refused as bad-id",
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
        "What is not canonical is refused",
        arguments: [
            "Z", "Zg", "Zg=", "Zg===", "Z===", "====", "Zh==", "Zm9=", "Zg==Zg==", "Zm 9", "Z-_=",
        ]
    )
    func refused(text: String) {
        #expect(Base64.decode(text) == nil)
    }
}
