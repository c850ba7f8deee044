import LarderAPI
import LarderEngine
import LarderJSON
import LarderModel
import LarderStore
import LarderTestSupport
import LarderWire
import Testing

@Suite("The server by its OpenAPI document", .timeLimit(.minutes(10)))
struct ConformanceTests {
    private let api: DocumentedAPI

    init() throws {
        api = try DocumentedAPI()
    }

    private func ask(
        _ server: ServerFixture,
        _ operation: DocumentedOperation,
        _ target: String,
        _ body: JSONValue?
    ) async throws -> RawResponse {
        let client = try await server.connect()
        let headers = operation.neededHeaders
        guard operation.body != nil else {
            return try await client.ask(operation.method, target, headers)
        }
        let bytes = Array((body?.json ?? "bytes").utf8)
        return try await client.ask(operation.method, target, headers, body: bytes)
    }

    /// The names that a refusal of `bogus` says there are.
    private func knownNames(_ response: RawResponse, _ kind: ProblemKind) throws -> [String] {
        let problem = try response.problem()
        #expect(problem.kind == kind, "\(problem.detail)")
        #expect(problem.detail.contains("'bogus'"))
        let names = problem.detail.split(separator: " there are: ", maxSplits: 1)
        return names.count == 2 ? names[1].split(separator: ", ").map(String.init) : []
    }

    @Test("Each route takes the query parameters that are documented, and no other")
    func queryParameters() async throws {
        try await ServerFixture.run(rules: .standard) { server in
            for operation in api.operations
            where operation.method != "HEAD" && !operation.passesQuery {
                let target = operation.exampleTarget
                let bogus = target + (target.contains("?") ? "&" : "?") + "bogus=1"
                let answer = try await ask(server, operation, bogus, operation.exampleBody)
                let known = try knownNames(answer, .unknownParameter)
                #expect(known.sorted() == operation.queryNames.sorted(), "\(operation)")
            }
        }
    }

    @Test("A HEAD takes what the GET takes")
    func heads() throws {
        for head in api.operations where head.method == "HEAD" {
            let get = try #require(
                api.operations.first { $0.path == head.path && $0.method == "GET" }
            )
            #expect(head.parameters == get.parameters)
        }
    }

    @Test("Each command takes the members that are documented, and no other")
    func members() async throws {
        try await ServerFixture.run(rules: .standard) { server in
            for operation in api.operations {
                guard !operation.bodySchemas.isEmpty, var body = operation.exampleBody?.members
                else { continue }
                body.append(JSONMember(name: "bogus", value: .null))
                let answer = try await ask(
                    server,
                    operation,
                    operation.exampleTarget,
                    .object(body)
                )
                let names = operation.bodySchemas.flatMap {
                    api.resolved($0)["properties"]?.members?.map(\.name) ?? []
                }
                let known = try knownNames(answer, .unknownMember)
                #expect(known.sorted() == Set(names).sorted(), "\(operation)")
            }
        }
    }

    @Test("Each route's answer to its example is as documented")
    func answers() async throws {
        let judge = SchemaJudge(api: api)
        for operation in api.operations {
            try await ServerFixture.run(rules: .standard) { server in
                try await prepare(server, for: operation)
                let answer = try await ask(
                    server,
                    operation,
                    operation.endingTarget,
                    operation.exampleBody
                )
                let good = operation.responses.compactMap { Int($0.name) }.filter { $0 < 300 }
                #expect(good.contains(answer.status), "\(operation): \(answer.text)")
                let documented = try #require(operation.response(answer.status), "\(operation)")
                for header in documented["headers"]?.members ?? []
                where header.value["required"]?.bool != false {
                    #expect(answer.headers[header.name] != nil, "\(operation): \(header.name)")
                }
                guard !answer.body.isEmpty, operation.method != "HEAD" else { return }
                let type = answer.headers["Content-Type"] ?? ""
                let content = documented["content"]
                let schema = try #require(
                    content?[type]?["schema"] ?? content?["*/*"]?["schema"],
                    "\(operation): \(type)"
                )
                for text in type == "application/jsonl" ? answer.lines : [answer.text] {
                    guard content?[type] != nil else { continue }
                    let value = try JSONValue(parsing: Array(text.utf8))
                    #expect(judge.complaints(value, schema, at: operation.description) == [])
                }
            }
        }
    }

    /// A modifier that waits for its hold to be over, or a dead letter.
    private func prepareModifier(
        _ server: ServerFixture,
        _ url: WebURL,
        isHeld: Bool
    ) async throws {
        let id = try ModifierID("01JD2Q4W6Z0000000000000000")
        let change = ModifierCommand.Change(target: try EntryID(url), effect: .delete)
        let request = try #require(ModifierCommand.derivedRequest(for: [change]))
        var command = ModifierCommand(changes: [change], request: request)
        command.id = id
        if isHeld { command.hold = .seconds(3_600) }
        server.upstream.answer(url, with: .reply("no", status: 403))
        _ = try await server.engine.modifiers.accept(ModifiersCommand(command), server.scope)
        guard !isHeld else { return }
        let wait = Duration.seconds(60)
        let report = try await server.engine.modifiers.modifier(id, server.scope, wait: wait)
        #expect(report.state == .failed)
    }

    /// What the examples speak of is there.
    private func prepare(
        _ server: ServerFixture,
        for operation: DocumentedOperation
    ) async throws {
        try await server.store("notes/1", Array("hello".utf8), kind: .blob)
        if operation.description == "DELETE /v1/pins/{id}" {
            let id = try EntryID("notes/1")
            _ = try await server.store.pins.pin(
                server.scope,
                id,
                origin: nil,
                now: server.clock.now()
            )
        }
        let url = try ServerFixture.url("/articles/42")
        if operation.path == "/v1/prefetch/{set}" {
            let command = PrefetchCommand(items: [PrefetchItem(url: url.text)])
            _ = try await server.engine.prefetches
                .put(PrefetchName("tonight"), command, server.scope)
        }
        if operation.path.hasPrefix("/v1/modifiers/{modifier}") {
            try await prepareModifier(server, url, isHeld: operation.method == "DELETE")
        }
        server.upstream.answer(url, with: .json(#"{"title":"Larder"}"#))
        let files = OriginSettings(
            name: try OriginName("files"),
            baseURL: try WebURL("https://files.example.com")
        )
        _ = try await server.engine.origins.add(OriginCommand(files))
        server.upstream.answer(
            try WebURL("https://files.example.com/articles/42"),
            with: .json("[]")
        )
    }
}
