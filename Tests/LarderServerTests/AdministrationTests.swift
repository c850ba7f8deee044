import LarderAPI
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@Suite("Administration over the socket", .timeLimit(.minutes(5)))
struct AdministrationTests {
    @Test("A dry run says what an eviction then does")
    func evict() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            for id in ["a1", "a2", "b"] {
                let put = try await client.ask("PUT", "/v1/entries/\(id)", body: pattern(100))
                #expect(put.status == 201)
            }
            func evict(_ json: String) async throws -> EvictReport {
                let body = Array(json.utf8)
                let response = try await client.ask("POST", "/v1/evict", body: body)
                #expect(response.status == 200)
                return try EvictReport(decoding: response.body)
            }
            let dry = try await evict(#"{"prefix":"a","dry_run":true}"#)
            #expect(dry.evicted == 2)
            #expect(dry.ids == ["a1", "a2"])
            #expect(try await client.ask("GET", "/v1/entries/a1").status == 200)
            let real = try await evict(#"{"prefix":"a"}"#)
            #expect(real.accountedBytes == dry.accountedBytes)
            #expect(Set(real.ids) == ["a1", "a2"])
            #expect(try await client.ask("GET", "/v1/entries/a1").status == 404)
            #expect(try await client.ask("GET", "/v1/entries/b").status == 200)
            #expect(try await evict(#"{"all":true}"#).evicted == 1)
        }
    }

    @Test("Status tells the connections, the reads and the version")
    func status() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let other = try await server.connect()
            _ = try await other.ask("PUT", "/v1/entries/a", body: [1])
            _ = try await other.ask("GET", "/v1/entries/a")
            _ = try await other.ask("GET", "/v1/entries/b")
            let response = try await client.ask("GET", "/v1/status")
            #expect(response.headers["Content-Type"] == "application/json")
            let status = try StatusReport(decoding: response.body)
            #expect(status.version == "1.2.3")
            #expect(status.connections == 2)
            #expect(status.cache.entries == 1)
            #expect(status.cache.hits == 1)
            #expect(status.cache.misses == 1)
            #expect(status.origins.map(\.name) == ["example"])
            #expect(status.state == .ok)
        }
    }

    @Test("Health is told without a body that changes")
    func health() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let response = try await client.ask("GET", "/v1/health")
            #expect(response.status == 200)
            #expect(response.text == #"{"status":"ok"}"#)
            #expect(response.headers["Content-Type"] == "application/json")
            #expect(response.headers["Content-Length"] == "15")
        }
    }

    @Test("No path but the known ones is found, and a wrong method is told the right ones")
    func refusals() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let missing = try await client.ask("GET", "/v1/nothing")
            #expect(missing.status == 404)
            #expect(try missing.problem().kind == .notFound)
            for (method, path, allowed) in [
                ("DELETE", "/v1/fetch", "GET, POST"), ("GET", "/v1/evict", "POST"),
                ("POST", "/v1/entries/a", "GET, HEAD, PUT, DELETE"),
                ("PUT", "/v1/entries/a/explain", "GET, HEAD"), ("HEAD", "/v1/fetch", "GET, POST"),
            ] {
                let response = try await client.ask(method, path)
                #expect(response.status == 405)
                #expect(response.headers["Allow"] == allowed)
                if method != "HEAD" { #expect(try response.problem().kind == .methodNotAllowed) }
            }
        }
    }

    @Test("Unknown parameters and members are named, on every route")
    func unknownNames() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let url = "url=\(ServerFixture.baseURL)/"
            for path in [
                "/v1/fetch?\(url)&bogus=1", "/v1/entries?bogus=1", "/v1/entries/a?bogus=1",
                "/v1/entries/a/explain?bogus=1", "/v1/status?bogus=1", "/v1/health?bogus=1",
                "/v1/health?bogus",
            ] {
                let problem = try await client.ask("GET", path).problem()
                #expect(problem.kind == .unknownParameter, "\(path)")
                #expect(problem.detail.contains("'bogus'"), "\(path)")
            }
            for (method, path) in [
                ("PUT", "/v1/entries/a?bogus=1"), ("POST", "/v1/fetch?bogus=1"),
                ("POST", "/v1/evict?bogus=1"), ("DELETE", "/v1/entries/a?bogus=1"),
            ] {
                let own = try await server.connect()
                let problem = try await own.ask(method, path, body: []).problem()
                #expect(problem.kind == .unknownParameter, "\(method) \(path)")
            }
            for (path, json) in [
                ("/v1/fetch", #"{"url":"https://api.example.com/","bogus":1}"#),
                ("/v1/evict", #"{"all":true,"bogus":1}"#),
            ] {
                let body = Array(json.utf8)
                let problem = try await client.ask("POST", path, body: body).problem()
                #expect(problem.kind == .unknownMember, "\(path)")
                #expect(problem.detail.contains("'bogus'"), "\(path)")
            }
        }
    }

    @Test("Every problem has a request id of its own")
    func requestIDs() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            var ids: Set<String> = []
            for path in ["/nothing", "/v1/entries/a", "/v1/entries/%00", "/v1/status?a=b"] {
                ids.insert(try await client.ask("GET", path).problem().requestID)
                ids.insert(try await client.ask("GET", path).problem().requestID)
            }
            #expect(ids.count == 8)
        }
    }

    @Test("A command's body is bounded")
    func largeCommand() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let body = Array(repeating: UInt8(ascii: " "), count: Limits.commandBodyBytesMax + 1)
            let response = try await client.ask("POST", "/v1/evict", body: body)
            #expect(response.status == 413)
            #expect(try response.problem().kind == .bodyTooLarge)
            try await server.expectServing()
        }
    }
}
