import LarderAPI
import LarderEngine
import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@Suite("Absolute targets of other hosts", .timeLimit(.minutes(5)))
struct AbsoluteTargetTests {
    @Test(
        "An absolute target is the raw route of the origin that owns the URL, byte for byte (P-15)",
        arguments: ["/", "", "?q", "/a%2Fb//c;d?x=%41&account=y&z=[1]", "/a/%C3%A9+%20?a=/o/b?.."]
    )
    func reads(target: String) async throws {
        try await ServerFixture.run { server in
            server.upstream.answerOthers { _ in
                .reply("body", headers: ["Cache-Control": "max-age=60"])
            }
            let client = try await server.connect()
            let url = "HTTPS://API.example.com:443\(target)"
            let first = try await client.ask("GET", url)
            #expect(first.text == "body")
            #expect(first.headers["Cache-Status"]?.contains("stored") == true)
            let text = target.hasPrefix("/") ? target : "/\(target)"
            #expect(server.upstream.asked.all.map(\.url.text) == [ServerFixture.baseURL + text])
            #expect(server.upstream.asked.all.map(\.url.requestTarget) == [text])
            // The same entry as by the name of the origin.
            let only = "Cache-Control: only-if-cached"
            #expect(try await client.ask("GET", "/o/example\(target)", [only]).text == "body")
            let head = try await client.ask("HEAD", url, [only])
            #expect(head.status == 200)
            #expect(head.headers["Content-Length"] == "4")
        }
    }

    @Test("Writes take an absolute target too, as modifiers or passed on, for any account")
    func writes() async throws {
        try await ServerFixture.run { server in
            let gate = Gate()
            server.upstream.answer(
                try ServerFixture.url("/a?x"),
                with: .reply("done"),
                .reply(status: 204).held(by: gate)
            )
            let client = try await server.connect()
            let url = ServerFixture.baseURL + "/a?x"
            let passed = try await client.ask("PUT", url, ["Larder-Account: work"], body: [1])
            #expect(passed.text == "done")
            let later = ["Prefer: respond-async", "Idempotency-Key: k"]
            for _ in 1...2 {
                let queued = try await client.ask("PUT", url, later, body: [1])
                #expect(queued.status == 202)
                #expect(queued.headers["Location"] == "/v1/modifiers/k")
            }
            let sent = try await server.upstream.asked.element(1)
            #expect(sent.url.text == url)
            #expect(server.store.modifiers.totals.count == 1)
            gate.open()
        }
    }

    @Test(
        "A URL that no origin owns, or that is none, is refused, and no route of the API answers it",
        arguments: [
            ("https://other.example.com/v1/entries/a", 403, ProblemKind.unknownOrigin),
            ("http://api.example.com/v1/entries/a", 403, .unknownOrigin),
            ("http://localhost/v1/entries/a", 403, .unknownOrigin),
            ("http://larder:81/v1/entries/a", 403, .unknownOrigin),
            ("http://larder.example/v1/entries/a", 403, .unknownOrigin),
            ("https://ada@api.example.com/a", 400, .badURL),
            ("https://api.example.com:99999/a", 400, .badURL),
            ("http:///v1/entries/a", 400, .badURL),
        ]
    )
    func refused(target: String, status: Int, kind: ProblemKind) async throws {
        try await ServerFixture.run { server in
            try await server.store("a", [1])
            for method in ["GET", "DELETE", "PUT"] {
                let response = try await server.connect().ask(method, target)
                #expect(response.status == status, "\(method)")
                #expect(try response.problem().kind == kind, "\(method)")
            }
            #expect(server.upstream.asked.all.isEmpty)
            #expect(try await server.connect().ask("GET", "/v1/entries/a").status == 200)
        }
    }
}
