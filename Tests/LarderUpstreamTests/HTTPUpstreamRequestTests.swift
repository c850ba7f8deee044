import LarderModel
import LarderTestSupport
import Testing

@testable import LarderUpstream

@Suite("Requests as an origin gets them", .timeLimit(.minutes(5)))
struct HTTPUpstreamRequestTests {
    @Test("A request takes connections of its user, and a queued write those of all")
    func connectionsOfUsers() throws {
        let origin = OriginSettings(name: try OriginName("o"), baseURL: try WebURL("http://a/"))
        func settings(_ purpose: UpstreamRequest.Purpose, _ user: UInt32) -> ConnectionSettings {
            var request = UpstreamRequest(
                origin: origin,
                url: origin.baseURL,
                timeout: .seconds(1),
                purpose: purpose
            )
            request.user = user
            return ConnectionSettings(for: request)
        }
        for purpose in [UpstreamRequest.Purpose.read, .passingOn, .passedWrite, .upload] {
            #expect(settings(purpose, 1) != settings(purpose, 2))
        }
        #expect(settings(.write, 1) == settings(.write, 2))
        #expect(settings(.passingOn, 1) != settings(.passedWrite, 1))
    }

    @Test("The client's header fields go as they are, over them the origin's, then our defaults")
    func headers() async throws {
        try await withOrigin { fixture in
            let fixture = fixture.with {
                $0.headers.append("Authorization", "Bearer ours")
                $0.headers.append("X-Several", "1")
                $0.headers.append("X-Several", "2")
            }
            let request = try fixture.request(headers: [
                ("accept", "text/html"), ("authorization", "Bearer theirs"),
                ("If-None-Match", "\"1\""), ("x-several", "0"),
            ])
            _ = try await fixture.upstream.ask(request).bytes()
            let sent = try await fixture.server.requests.element(0)
            #expect(sent.method == "GET")
            #expect(sent.body == [])
            #expect(sent.headers.list("Accept") == "text/html")
            #expect(sent.headers.list("Authorization") == "Bearer ours")
            #expect(sent.headers.list("If-None-Match") == "\"1\"")
            #expect(sent.headers.list("X-Several") == "1, 2")
            #expect(sent.headers.list("Accept-Encoding") == "identity")
            #expect(sent.headers.list("User-Agent") == "larderd/test")
            #expect(sent.headers.list("Host") == "127.0.0.1:\(fixture.server.port)")
        }
    }

    @Test(
        "A write goes with its method and body, and with the body's length",
        arguments: [("POST", "{}"), ("PUT", ""), ("PATCH", "[1]"), ("DELETE", nil), ("PURGE", "")]
            as [(String, String?)]
    )
    func writes(method: String, body: String?) async throws {
        try await withOrigin { fixture in
            var request = try fixture.request()
            request.method = method
            request.body = body.map { Array($0.utf8) }
            request.purpose = .write
            _ = try await fixture.upstream.ask(request).bytes()
            let sent = try await fixture.server.requests.element(0)
            #expect(sent.method == method)
            #expect(sent.body == Array((body ?? "").utf8))
            #expect(sent.headers.list("Transfer-Encoding") == nil)
            let length = body.map { "\($0.utf8.count)" }
            #expect(sent.headers.list("Content-Length") == length)
        }
    }

    @Test("An upload ends with the last byte of its length, and its connection is closed then")
    func lastByte() async throws {
        try await withOrigin { fixture in
            let asked = Recorder<Int>()
            var request = try fixture.request()
            (request.method, request.purpose) = ("POST", .upload)
            request.upload = UpstreamUpload(byteCount: 6) {
                asked.record(1)
                return Array("abc".utf8)
            }
            _ = try await fixture.upstream.ask(request).bytes()
            let sent = try await fixture.server.requests.element(0)
            #expect(sent.body == Array("abcabc".utf8))
            _ = try await fixture.server.closed.element(0)
            #expect(asked.all.count == 2)
        }
    }

    @Test("A request that accepts codings names those that the upstream decodes (S48)")
    func acceptsCodings() async throws {
        try await withOrigin { fixture in
            var request = try fixture.request()
            request.acceptsCodings = true
            _ = try await fixture.upstream.ask(request).bytes()
            let sent = try #require(fixture.server.requests.all.first)
            #expect(sent.headers.list("Accept-Encoding") == "gzip, br, zstd")
        }
    }

    @Test("A client's own User-Agent and Accept-Encoding are kept")
    func clientsOwn() async throws {
        try await withOrigin { fixture in
            let request = try fixture.request(headers: [
                ("user-agent", "reader/1"), ("accept-encoding", "gzip"),
            ])
            _ = try await fixture.upstream.ask(request).bytes()
            let sent = try await fixture.server.requests.element(0)
            #expect(sent.headers.list("User-Agent") == "reader/1")
            #expect(sent.headers.list("Accept-Encoding") == "gzip")
        }
    }

    @Test("The origin's header fields do not go to another host, port or scheme")
    func otherHost() async throws {
        try await withOrigin { fixture in
            let fixture = try fixture.with {
                $0.baseURL = try WebURL("http://127.0.0.2:\(fixture.server.port)/")
                $0.headers.append("Authorization", "Bearer ours")
            }
            _ = try await fixture.upstream.ask(try fixture.request()).bytes()
            let sent = try await fixture.server.requests.element(0)
            #expect(sent.headers["Authorization"] == nil)
        }
    }

    @Test(
        "Path and query are asked as the URL spells them",
        arguments: ["/", "/a%2Fb/c?q=1&q=%20+2", "/a/../b//c/?", "/x;y=(1)?a=b/c?d:@!$'*,"]
    )
    func spelling(_ path: String) async throws {
        try await withOrigin { fixture in
            _ = try await fixture.ask(path).bytes()
            #expect(try await fixture.server.requests.element(0).path == path)
        }
    }
}
