import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@Suite("Targets of requests", .bothWays, .timeLimit(.minutes(10)))
struct TargetTests {
    @Test(
        "A target in absolute form with the daemon's own name counts by its path and query",
        arguments: [
            ("http://larder/v1/entries/a", 200),
            ("HTTPS://LARDER/v1/entries/a?account=default", 200),
            ("http://larder/v1/entries/b", 404), ("http://larder/v1/entries/a?bogus=1", 400),
            ("http://larder", 404), ("http://larder?a=b", 404),
            ("http://", 400), ("ftp://larder/v1/entries/a", 404), ("*", 404),
        ]
    )
    func absoluteForm(target: String, status: Int) async throws {
        try await ServerFixture.run { server in
            try await server.store("a", [1])
            let client = try await server.connect()
            let response = try await client.ask("GET", target)
            #expect(response.status == status)
            #expect(try await client.ask("GET", "/v1/health").status == 200)
        }
    }

    @Test("An id may be a URL behind an absolute target too")
    func absoluteFormOfURL() async throws {
        try await ServerFixture.run { server in
            try await server.store("https://api.example.com/42", [1])
            let client = try await server.connect()
            let target = "http://larder/v1/entries/https://api.example.com/42"
            #expect(try await client.ask("GET", target).body == [1])
        }
    }

    @Test(
        "HTTP/1.1 without one good Host is refused, and nothing of it is done",
        arguments: [
            "", "Host: a\r\nHost: a\r\n", "Host: a b\r\n", "Host: a/b\r\n", "Host: u@a\r\n",
        ]
    )
    func hosts(fields: String) async throws {
        try await ServerFixture.run { server in
            try await server.store("a", [1])
            let client = try await server.connect()
            for method in ["GET", "DELETE"] {
                try await client.send("\(method) /v1/entries/a HTTP/1.1\r\n\(fields)\r\n")
                let response = try await client.response()
                #expect(response.status == 400)
                let problem = try response.problem()
                #expect(problem.kind == .badRequest)
                #expect(problem.detail.contains("Host"))
            }
            #expect(try await client.ask("GET", "/v1/entries/a").status == 200)
        }
    }

    @Test(
        "Any host will do, an empty one too, and HTTP/1.0 needs none",
        arguments: [
            "HTTP/1.1\r\nHost:\r\n\r\n", "HTTP/1.1\r\nhOsT: [::1]:80\r\n\r\n",
            "HTTP/1.1\r\nHost: %2Frun%2Fapi.sock\r\n\r\n", "HTTP/1.0\r\n\r\n",
        ]
    )
    func goodHosts(rest: String) async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            try await client.send("GET /v1/health \(rest)")
            #expect(try await client.response().status == 200)
        }
    }
}
