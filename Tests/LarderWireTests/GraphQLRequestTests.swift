import LarderModel
import LarderWire
import Testing

@Suite("GraphQL requests (S31)")
struct GraphQLRequestTests {
    private func refusal(_ json: String, _ type: String = "application/json") -> String? {
        refusal(json, type, at: "https://api.example.com/graphql")
    }

    private func refusal(_ body: String, _ type: String, at url: String) -> String? {
        guard let url = try? WebURL(url) else { return "no URL" }
        return GraphQLRequest.refusal(of: Array(body.utf8), mediaType: type, at: url)
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
        for persisted in [
            #"{"documentId":"a"}"#, #"{"doc_id":"1","variables":{}}"#,
            #"{"id":"a","variables":{}}"#,
            #"{"query":"","extensions":{"persistedQuery":{}}}"#, #"{"id":"a","operationName":"L"}"#,
        ] {
            #expect(refusal(persisted) != nil, "\(persisted)")
        }
        let twice = #"{"query":"{ a }","query":"mutation { b }"}"#
        #expect(refusal(twice) != nil, "parsers differ in which of two members they take")
        #expect(refusal("--x", "multipart/form-data; boundary=x") != nil)
    }

    @Test(
        "A body that is none of GraphQL may be a read's",
        arguments: [
            #"{"query":"mutation of genes"}"#, #"{"query":{"match":{}}}"#, "{}", "[1,null]",
            #"{"id":7}"#,
        ]
    )
    func otherBodies(json: String) {
        #expect(refusal(json) == nil)
    }

    @Test("A body that the daemon cannot look into is no read")
    func unreadable() {
        #expect(refusal("no JSON") != nil)
        #expect(refusal(String(repeating: "[", count: 2_000)) != nil)
        #expect(refusal("", "multipart/mixed; boundary=x") != nil)
    }

    @Test(
        "A document in JSON counts whatever the type says",
        arguments: ["application/x-www-form-urlencoded", "text/plain; charset=utf-8", "", "a/b"]
    )
    func otherTypes(type: String) {
        #expect(refusal(#"{"query":"mutation { a }"}"#, type) != nil)
        #expect(refusal(#"[{"query":"{ a }"},{"query":"mutation { b }"}]"#, type) != nil)
        #expect(refusal(#"{"documentId":"a"}"#, type) != nil)
        #expect(refusal(#"{"query":"{ a }"}"#, type) == nil)
        #expect(refusal("no JSON", type) == nil)
    }

    @Test("A document in a form, and one in the URL, counts")
    func forms() {
        let form = "application/x-www-form-urlencoded"
        #expect(refusal("a=1&query=mutation+%7B+a+%7D", form) != nil)
        #expect(refusal("a=1&query=%7B+a+%7D", form) == nil)
        #expect(refusal("query=cats&a=%FF", form) == nil)
        #expect(refusal("query=%FF", form) != nil)
        let url = "https://api.example.com/graphql?query=mutation%7Ba%7D"
        #expect(refusal("{}", "application/json", at: url) != nil)
        #expect(refusal("{}", "application/json", at: "https://a/b?query=cats") == nil)
    }

    @Test("Any bytes are read to their end")
    func anyBytes() {
        let pieces = ["{", "}", "\"", "\"\"\"", "\\", "#", "\n", "mutation", " ", "(", ")"]
        var random = SystemRandomNumberGenerator()
        for _ in 0..<2_000 {
            let count = Int.random(in: 0...12, using: &random)
            let text = (0..<count).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
            _ = refusal(text, "application/graphql")
        }
    }
}
