import LarderWire
import Testing

@Suite("GraphQL requests (S31)")
struct GraphQLRequestTests {
    private func refusal(_ json: String, _ type: String = "application/json") -> String? {
        GraphQLRequest.refusal(of: Array(json.utf8), mediaType: type)
    }

    private func refusal(document: String, operation: String? = nil) -> String? {
        let name = operation.map { #","operationName":"\#($0)""# } ?? ""
        let quoted = document.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
            .replacing("\n", with: "\\n")
        return refusal(#"{"query":"\#(quoted)"\#(name)}"#)
    }

    @Test(
        "A query may be sent as a read",
        arguments: [
            "{ a }", "query { a }", "query A($x: I = {mutation: 1}) @d(x: {a: 1}) { a }",
            "# mutation { a }\n{ a }", "fragment F on T { mutation } query { ...F }",
            "{ mutation(subscription: \"} mutation { a }\") { a } }",
            "{ a(t: \"\"\"} mutation { b } \\\"\"\" } mutation { c }\"\"\") }",
            "{ a(t: \"\\\"} mutation { b }\") }", "query mutation { a }", "\u{FEFF},, { a }",
        ]
    )
    func queries(document: String) {
        #expect(refusal(document: document) == nil)
    }

    @Test(
        "A mutation and a subscription may not",
        arguments: [
            "mutation { a }", "mutation A { a }", "subscription { a }",
            "fragment F on T { a } mutation { ...F }", "# query { a }\nmutation{a}",
            "mutation @d { a }", "mutation A($x: I = {a: 1}) { a }", "{ a } mutation { b }",
            "query A { a(t: \"}\") } mutation B { b }", "mutation { a",
        ]
    )
    func others(document: String) {
        #expect(refusal(document: document) != nil)
        #expect(refusal(document, "application/graphql") != nil)
    }

    @Test("The operation that the request names counts")
    func named() {
        let document = "query A { a } mutation B { b }"
        #expect(refusal(document: document, operation: "A") == nil)
        let reason = refusal(document: document, operation: "B")
        #expect(reason == "the GraphQL operation is a mutation")
        #expect(refusal(document: document, operation: "C") != nil)
        #expect(refusal(document: document, operation: "") != nil)
    }

    @Test("Each request of a list counts, and a persisted query may be a mutation")
    func bodies() {
        #expect(refusal(#"[{"query":"{ a }"},{"query":"{ b }"}]"#) == nil)
        #expect(refusal(#"[{"query":"{ a }"},{"query":"mutation { b }"}]"#) != nil)
        #expect(refusal(#"{"extensions":{"persistedQuery":{"version":1}}}"#) != nil)
        #expect(refusal(#"{"documentId":"a"}"#) != nil)
        #expect(refusal("--x", "multipart/form-data; boundary=x") != nil)
    }

    @Test(
        "A body that is none of GraphQL may be a read's",
        arguments: [
            #"{"query":"mutation of genes"}"#, #"{"query":{"match":{}}}"#, "{}", "[1,null]",
            "no JSON",
        ]
    )
    func otherBodies(json: String) {
        #expect(refusal(json) == nil)
    }

    @Test("Any bytes are read to their end")
    func anyBytes() {
        let pieces = ["{", "}", "\"", "\"\"\"", "\\", "#", "\n", "mutation", " ", "(", ")"]
        var random = SystemRandomNumberGenerator()
        for _ in 0..<2_000 {
            let count = Int.random(in: 0...12, using: &random)
            let text = (0..<count).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
            _ = GraphQLRequest.refusal(of: Array(text.utf8), mediaType: "application/graphql")
        }
    }
}
