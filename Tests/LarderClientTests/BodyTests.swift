import LarderClient
import LarderTestSupport
import LarderWire
import Testing

@Suite("The bodies of a fetch", .timeLimit(.minutes(5)))
struct BodyTests {
    private struct Article: Decodable, Equatable {
        let title: String
    }

    private static let entryPath =
        "/v1/entries/https%3A%2F%2Fapi.example.com%2Farticles%2F42"

    @Test("A body that is named by body_href is got when it is asked for, not before")
    func lazyBody() async throws {
        try await withDaemon { daemon, client in
            let bytes = [UInt8](repeating: 7, count: 300_000)
            daemon.answer(
                "/v1/fetch",
                with: .frames(
                    try Frames.snapshot(.network, .href(Self.entryPath)),
                    Frames.end(.network)
                )
            )
            daemon.answer(Self.entryPath, with: .reply(200, body: bytes))
            var found: Snapshot?
            for try await update in client.fetch(Frames.url) {
                if case .snapshot(let snapshot) = update { found = snapshot }
            }
            let snapshot = try #require(found)
            #expect(snapshot.inlineBody == nil)
            #expect(daemon.requests.all.map(\.path) == ["/v1/fetch"])
            let body = try await snapshot.body()
            #expect(body == bytes)
            var streamed: [UInt8] = []
            for try await chunk in try await snapshot.bodyChunks() { streamed += chunk }
            #expect(streamed == bytes)
        }
    }

    @Test(
        "An exact body has the line ends and spaces of the origin, unless another came meanwhile",
        arguments: [
            ("\r\n{\n  \"a\": [1,\n2]\t}\n\n", true), ("{   \"a\": [1, 3]\t}", false),
            ("{   \"a\": [1, 2]\t}x", false), ("", false),
        ]
    )
    func exactBody(stored: String, isTheSame: Bool) async throws {
        try await withDaemon { daemon, client in
            let inline = "{   \"a\": [1, 2]\t}"
            daemon.answer(
                "/v1/fetch",
                with: .frames(
                    try Frames.snapshot(.cache, .json(Array(inline.utf8))),
                    Frames.end(.cache)
                )
            )
            daemon.answer(Self.entryPath, with: .reply(200, body: Array(stored.utf8)))
            var updates = client.fetch(Frames.url).makeAsyncIterator()
            guard case .snapshot(let snapshot) = try await updates.next() else {
                Issue.record("the first update is no snapshot")
                return
            }
            let body = try await snapshot.exactBody()
            #expect(String(decoding: body, as: UTF8.self) == (isTheSame ? stored : inline))
        }
    }

    @Test("An exact body that the daemon did not keep is the inline one")
    func exactBodyNotKept() async throws {
        try await withDaemon { daemon, client in
            daemon.answer(
                "/v1/fetch",
                with: .frames(
                    try Frames.snapshot(.network, .json(Array("[1]".utf8))),
                    Frames.end(.network)
                )
            )
            var updates = client.fetch(Frames.url).makeAsyncIterator()
            guard case .snapshot(let snapshot) = try await updates.next() else {
                Issue.record("the first update is no snapshot")
                return
            }
            let body = try await snapshot.exactBody()
            #expect(body == Array("[1]".utf8))
        }
    }

    @Test("body_href is asked for with the client's account")
    func hrefAccount() async throws {
        try await withDaemon(account: "work") { daemon, client in
            daemon.answer(
                "/v1/fetch",
                with: .frames(
                    try Frames.snapshot(.network, .href(Self.entryPath)),
                    Frames.end(.network)
                )
            )
            daemon.answer(Self.entryPath + "?account=work", with: .reply(200, body: [9]))
            var bodies: [[UInt8]] = []
            for try await update in client.fetch(Frames.url) {
                if case .snapshot(let snapshot) = update {
                    bodies.append(try await snapshot.body())
                }
            }
            #expect(bodies == [[9]])
        }
    }

    @Test("A typed fetch decodes the cached body and then the network's")
    func typed() async throws {
        try await withDaemon { daemon, client in
            daemon.answer(
                "/v1/fetch",
                with: .frames(
                    try Frames.snapshot(.cache, .json(Array(#"{"title":"old"}"#.utf8))),
                    try Frames.snapshot(.network, .href(Self.entryPath)),
                    Frames.end(.network)
                )
            )
            daemon.answer(Self.entryPath, with: .json(#"{"title":"new"}"#))
            var articles: [Article] = []
            var sources: [AnswerSource] = []
            for try await update in client.fetch(Frames.url, as: Article.self) {
                guard case .value(let found) = update else { continue }
                articles.append(found.value)
                sources.append(found.source)
            }
            #expect(articles == [Article(title: "old"), Article(title: "new")])
            #expect(sources == [.cache, .network])
        }
    }

    @Test("A typed fetch says unchanged, deleted and failed")
    func typedWords() async throws {
        try await withDaemon { daemon, client in
            let problem = FetchFrame.problem(
                ProblemFrame(Problem(.timeout, "no answer within 1 s"))
            )
            daemon.answer(
                "/v1/fetch",
                with: .frames(Frames.unchanged, Frames.end(.unchanged)),
                .frames(Frames.deleted, Frames.end(.deleted)),
                .frames(problem, Frames.end(.error))
            )
            var words: [String] = []
            for _ in 0..<3 {
                for try await update in client.fetch(Frames.url, as: Article.self) {
                    switch update {
                    case .value: words.append("value")
                    case .unchanged: words.append("unchanged")
                    case .deleted: words.append("deleted")
                    case .failed(let problem): words.append(problem.detail)
                    }
                }
            }
            #expect(words == ["unchanged", "deleted", "no answer within 1 s"])
        }
    }

    @Test("A body that is not of the type throws decoding with the id and the place")
    func decodingError() async throws {
        try await withDaemon { daemon, client in
            daemon.answer(
                "/v1/fetch",
                with: .frames(
                    try Frames.snapshot(.cache, .json(Array(#"{"title":7}"#.utf8))),
                    Frames.end(.cache)
                )
            )
            let error = await #expect(throws: LarderError.self) {
                for try await _ in client.fetch(Frames.url, as: Article.self) {}
            }
            guard case .decoding(let id, let reason) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(id == Frames.url)
            #expect(reason.hasPrefix("at title: "))
        }
    }
}
