import LarderJSON
import LarderModel
import LarderStore
import LarderTestSupport
import LarderWire
import Testing

/// Bad input on every route that the document knows, so that a new one is tried by being there.
@Suite("Input that routes refuse", .timeLimit(.minutes(10)))
struct HostileRouteTests {
    private let api: DocumentedAPI

    init() throws {
        api = try DocumentedAPI()
    }

    private var commands: [(operation: DocumentedOperation, schema: JSONValue)] {
        api.operations.compactMap { operation in
            operation.bodySchemas.first.map { (operation, api.resolved($0)) }
        }
    }

    private func example(_ operation: DocumentedOperation) throws -> [JSONMember] {
        try #require(operation.exampleBody?.members)
    }

    @Test("A member of another type, or out of its range, is refused")
    func wrongTypes() async throws {
        let wrong = try [
            "-1", "1.5", "1e999", "true", #""\u0000""#, "[]", "[[]]", "[null]", "{}",
            #"{"a":{}}"#,
        ].map { try JSONValue(parsing: Array($0.utf8)) }
        let judge = SchemaJudge(api: api)
        try await ServerFixture.run { server in
            let client = try await server.connect()
            for (operation, schema) in commands {
                for property in schema["properties"]?.members ?? [] {
                    for value in wrong where !judge.complaints(value, property.value).isEmpty {
                        var body = try example(operation).filter { $0.name != property.name }
                        body.append(JSONMember(name: property.name, value: value))
                        let bytes = Array(JSONValue.object(body).json.utf8)
                        let target = operation.exampleTarget
                        let answer = try await client.ask(operation.method, target, body: bytes)
                        #expect(answer.status == 400, "\(operation) \(property.name) \(value)")
                        _ = try answer.problem()
                    }
                }
            }
        }
    }

    @Test("A body that is no object, a member given twice, and one too large are refused")
    func badBodies() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            for (operation, _) in commands {
                let example = JSONValue.object(try example(operation)).json
                let first = try #require(try self.example(operation).first)
                let twice = JSONValue.object([first]).json.dropLast() + "," + example.dropFirst()
                let isNeeded = operation.body?["required"]?.bool == true
                for body in (isNeeded ? [""] : []) + [
                    "{", "[]", "null", "\u{0}", example + "x", String(twice),
                ] {
                    let answer = try await client.ask(
                        operation.method,
                        operation.exampleTarget,
                        body: Array(body.utf8)
                    )
                    #expect(answer.status == 400, "\(operation) \(body)")
                    _ = try answer.problem()
                }
                let isOfSet = operation.path == "/v1/prefetch/{set}"
                let bytesMax =
                    isOfSet ? Limits.prefetchCommandBytesMax : Limits.commandBodyBytesMax
                let spaces = String(repeating: " ", count: bytesMax)
                let other = try await server.connect()
                let answer = try await other.ask(
                    operation.method,
                    operation.exampleTarget,
                    body: Array((spaces + example).utf8)
                )
                #expect(try answer.problem().kind == .bodyTooLarge, "\(operation)")
            }
        }
    }

    @Test("A query parameter that is given twice is refused")
    func doubleParameters() async throws {
        try await ServerFixture.run { server in
            for operation in api.operations where operation.method != "HEAD" {
                for name in operation.queryNames where !operation.repeatedNames.contains(name) {
                    let client = try await server.connect()
                    let base = operation.exampleTarget
                    let target = base + (base.contains("?") ? "&" : "?") + "\(name)=1&\(name)=1"
                    let answer = try await client.ask(operation.method, target, body: [])
                    #expect(answer.status == 400, "\(operation) \(name)")
                    _ = try answer.problem()
                }
            }
        }
    }

    @Test("A path that is no id is refused")
    func badIDs() async throws {
        let ids = [
            "a%00", "%0A", "%7F", "%", "%G1", "%FF", "%C0%AF", "%ED%A0%80",
            String(repeating: "i", count: Limits.idBytesMax + 1),
            String(repeating: "i", count: 60_000),
        ]
        try await ServerFixture.run { server in
            for id in ids {
                for operation in api.operations where operation.path.contains("{id}") {
                    let client = try await server.connect()
                    let target = operation.path.replacing("{id}", with: id)
                    let answer = try await client.ask(operation.method, target)
                    #expect(answer.status == 400, "\(operation)")
                    guard operation.method != "HEAD" else { continue }
                    #expect(try answer.problem().kind == .badID, "\(operation)")
                }
            }
        }
    }

    @Test("A path that begins with entity: and is no entity's id is refused")
    func badEntities() async throws {
        let keys = [
            "User", "User:", ":7", "%3A", "User:%", "User:%FF", "User:%2525%25",
            String(repeating: "i", count: Limits.entityKeyBytesMax) + ":1",
        ]
        try await ServerFixture.run { server in
            for key in keys {
                for operation in api.operations where operation.path.contains("{id}") {
                    let client = try await server.connect()
                    let target = operation.path.replacing("{id}", with: "entity:example/" + key)
                    let answer = try await client.ask(operation.method, target)
                    #expect(answer.status == 400, "\(operation) \(key)")
                    guard operation.method != "HEAD" else { continue }
                    #expect(try answer.problem().kind == .badID, "\(operation) \(key)")
                }
            }
        }
    }

    @Test("Slashes, spaces and an emoji are as good in an id as any letter")
    func goodIDs() async throws {
        let ids = [
            "a%2Fb", "a/b", "%20a%20b%20", "%F0%9F%A6%8A", "..", "%2E%2E%2F", "a%3Fb%23c",
            String(repeating: "i", count: Limits.idBytesMax),
        ]
        try await ServerFixture.run { server in
            for id in ids {
                for operation in api.operations where operation.path.contains("{id}") {
                    let client = try await server.connect()
                    let target = operation.path.replacing("{id}", with: id)
                    let answer = try await client.ask(operation.method, target, body: [])
                    #expect(answer.status != 400 && answer.status < 500, "\(operation)")
                }
                try await server.expectServing()
            }
        }
    }

    @Test("Half of any request is harmless when its client leaves")
    func halfRequests() async throws {
        try await ServerFixture.run { server in
            for operation in api.operations {
                let bytes = request(operation)
                for count in [bytes.count / 3, bytes.count - 1] {
                    let client = try await server.connect()
                    try await client.send(Array(bytes.prefix(count)))
                    await client.hangUp()
                }
            }
            try await server.expectServing()
            #expect(server.store.totals.entries == 0)
        }
    }

    // MARK: The same bytes in other pieces

    /// Routes whose answers are made of what time, the disk and the size of a log are.
    private static let changing = [
        "/v1/status", "/v1/stats", "/v1/usage", "/v1/check", "/v1/modifiers/actions",
    ]

    /// What is refused without a header is answered before its body, which ends the connection.
    ///
    /// The answers of a purge and of a new set depend on how far the daemon has got with the requests
    /// before them.
    private var operations: [DocumentedOperation] {
        let late = ["POST /v1/purge", "PUT /v1/prefetch/{set}"]
        return api.operations.filter {
            $0.neededHeaders.isEmpty && !late.contains($0.description)
        }
    }

    private func request(_ operation: DocumentedOperation) -> [UInt8] {
        let head = "\(operation.method) \(operation.endingTarget) HTTP/1.1\r\nHost: x\r\n"
        guard operation.body != nil else { return Array("\(head)\r\n".utf8) }
        let body = operation.exampleBody?.json ?? "bytes"
        return Array("\(head)Content-Length: \(body.utf8.count)\r\n\r\n\(body)".utf8)
    }

    /// The answers to an example of every route on one connection, without what time, randomUnit and
    /// the size of a log decide.
    private func answers(
        _ send: (RawClient, [UInt8]) async throws -> Void
    ) async throws -> [RawResponse] {
        var answers: [RawResponse] = []
        try await ServerFixture.run(rules: .standard) { server in
            let url = try ServerFixture.url("/articles/42")
            // An answer for every route that may ask: who gets none asks again when time has gone
            // by, and here it stands still. Modifiers ask behind, so that all are the same.
            for _ in api.operations { server.upstream.answer(url, with: .json("1")) }
            try await server.store("notes/1", Array("hello".utf8), kind: .blob)
            let client = try await server.connect()
            try await send(client, operations.flatMap(request))
            for operation in operations {
                var answer = try await client.response(to: operation.method)
                if answer.status >= 400, !answer.body.isEmpty {
                    answer.body = Array(try answer.problem().detail.utf8)
                    answer.headers.remove("Content-Length")
                } else if operation.passesQuery {
                    // It shows what the modifier before makes of it, or that it is settled.
                    answer.body = []
                    answer.headers = HeaderFields()
                } else if Self.changing.contains(operation.path) {
                    answer.body = []
                    answer.headers.remove("Content-Length")
                }
                answers.append(answer)
            }
        }
        return answers
    }

    /// Compares answer by answer, so that a difference says where it is.
    private func expectSame(_ found: [RawResponse], _ expected: [RawResponse], _ way: String) {
        for (operation, (found, expected)) in zip(operations, zip(found, expected)) {
            #expect(found == expected, "\(operation), \(way)")
        }
    }

    @Test(
        "Examples of all routes are answered the same in one piece, byte by byte and cut anywhere"
    )
    func cut() async throws {
        let expected = try await answers { client, bytes in try await client.send(bytes) }
        #expect(expected.allSatisfy { $0.status < 500 })
        let single = try await answers { client, bytes in
            for byte in bytes { try await client.send([byte]) }
        }
        expectSame(single, expected, "byte by byte")
        for seed in 1...3 as ClosedRange<UInt64> {
            var random = SeededRandom(seed: seed)
            let cut = try await answers { client, bytes in
                var rest = bytes[...]
                while !rest.isEmpty {
                    let count = Int.random(in: 1...Int(seed * 40), using: &random)
                    try await client.send(Array(rest.prefix(count)))
                    rest = rest.dropFirst(count)
                }
            }
            expectSame(cut, expected, "seed \(seed)")
        }
    }
}
