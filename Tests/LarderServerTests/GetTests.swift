import LarderAPI
import LarderModel
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@Suite("GET /v1/get: the body of a URL", .timeLimit(.minutes(5)))
struct GetTests {
    private func path(_ url: String, _ more: String = "") -> String {
        "/v1/get?url=\(PercentCoding.encode(ServerFixture.baseURL + url))\(more)"
    }

    @Test("The network is asked first; the cache answers where it is away, and when it is asked to")
    func policies() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/42")
            server.upstream.answer(url, with: .json("1"), .json("2"), .failure(.timedOut(.head)))
            let client = try await server.connect()
            let first = try await client.ask("GET", path("/42"))
            #expect(first.text == "1")
            #expect(first.headers["Content-Type"] == "application/json")
            for name in ["Age", "Larder-Rev", "Larder-Pending", "Server"] {
                #expect(first.headers[name] != nil, "\(name)")
            }
            #expect(try await client.ask("GET", path("/42", "&policy=cache-only")).text == "1")
            #expect(try await client.ask("GET", path("/42")).text == "2")
            let away = try await client.ask("GET", path("/42"))
            #expect(away.text == "2")
            #expect(away.headers["Cache-Status"]?.hasPrefix("larder; ") == true)
            let tag = try #require(away.headers["ETag"])
            let known = ["If-None-Match: \(tag)", "Cache-Control: only-if-cached"]
            #expect(try await client.ask("GET", path("/42"), known).status == 304)
        }
    }

    @Test("A status of the origin comes with its body, and a bad request is a problem")
    func refusals() async throws {
        try await ServerFixture.run { server in
            server.upstream.answer(try ServerFixture.url("/no"), with: .reply("why", status: 403))
            let client = try await server.connect()
            let refused = try await client.ask("GET", path("/no"))
            #expect((refused.status, refused.text) == (403, "why"))
            let cases: [(query: String, status: Int)] = [
                (path("/42", "&follow=true"), 400), ("/v1/get", 400), (path("/42", "&x=1"), 400),
                ("/v1/get?url=https://elsewhere.example/", 403),
                (path("/none", "&policy=cache-only"), 504),
            ]
            for (query, status) in cases {
                #expect(try await client.ask("GET", query).status == status, "\(query)")
            }
        }
    }
}

@Suite("The account of a request", .timeLimit(.minutes(5)))
struct AccountTests {
    @Test("An account is a parameter or a header field, on every route; both must be the same")
    func twoWays() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let work = ["Larder-Account: work"]
            let body: [UInt8] = [0x31]
            #expect(
                try await client.ask("PUT", "/v1/entries/a", work, body: body).status == 201
            )
            #expect(try await client.ask("GET", "/v1/entries/a").status == 404)
            #expect(try await client.ask("GET", "/v1/entries/a?account=work").text == "1")
            #expect(try await client.ask("GET", "/v1/entries/a", work).text == "1")
            #expect(try await client.ask("GET", "/v1/entries/a?account=work", work).text == "1")
            let listed = try await client.ask("GET", "/v1/entries", work)
            #expect(try Page<EntryItem>(decoding: listed.body).items.map(\.id) == ["a"])
            for target in [
                "/v1/entries/a?account=home", "/v1/entries?account=home",
                "/v1/modifiers?account=home", "/v1/pins?account=home", "/v1/usage?account=home",
                "/v1/fetch?url=https://api.example.com/1&account=home",
            ] {
                let answer = try await client.ask("GET", target, work)
                #expect(try answer.problem().kind == .badRequest, "\(target)")
            }
        }
    }
}
