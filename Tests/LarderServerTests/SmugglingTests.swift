import LarderModel
import LarderTestSupport
import LarderWire
import Testing

/// Whatever could be read in two ways ends the connection.
///
/// Two parties that read the same bytes as different requests are how one client's request reaches
/// the other's answer (RFC 9112 11.2).
@Suite("Requests that could be read in two ways", .bothWays, .timeLimit(.minutes(10)))
struct SmugglingTests {
    /// What a reader who finds another end would take for a request of its own.
    private static let hidden = "DELETE /v1/entries/kept HTTP/1.1\r\nHost: x\r\n\r\n"

    private func expectRefusals(_ requests: [String]) async throws {
        try await ServerFixture.run { server in
            try await server.store("kept", [1])
            for request in requests {
                let client = try await server.connect()
                client.begin(Array((request + Self.hidden).utf8))
                let response = try await client.response()
                #expect(response.status == 400, "\(request.debugDescription)")
                #expect(response.headers["Connection"] == "close")
                #expect(try response.problem().kind == .badRequest)
                #expect(try await client.rest().isEmpty)
                let other = try await server.connect()
                #expect(try await other.ask("GET", "/v1/entries/kept").status == 200)
                #expect(try await other.ask("GET", "/v1/entries/put").status == 404)
                await other.hangUp()
            }
        }
    }

    static let lengthsRefused = [
        "Content-Length: 3\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 3",
        "Content-Length: 3\r\nContent-Length: 4",
        "Content-Length: 3\r\nContent-Length: 3",
        "Content-Length: 3, 4",
        "Content-Length: 3, 3",
        "Content-Length: +3",
        "Content-Length: -3",
        "Content-Length: 0x3",
        "Content-Length: 3;",
        "Content-Length: 3 3",
        "Content-Length: 3.0",
        "Content-Length: ٣",
        "Content-Length:",
        "Content-Length: 18446744073709551619",
        "Content-Length : 3",
        "Content-Length\t: 3",
        "Transfer-Encoding:",
        "Transfer-Encoding: ",
        "Transfer-Encoding: ,",
        "Transfer-Encoding:\r\nContent-Length: 3",
        "Transfer-Encoding: identity",
        "Transfer-Encoding: gzip",
        "Transfer-Encoding: chunked, gzip",
        "Transfer-Encoding: chunked, chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding: \"chunked\"",
        "Transfer-Encoding: \u{0B}chunked",
        "Transfer-Encoding : chunked",
        "Transfer-Encoding:\r\n chunked",
        "Content-Length:\r\n 3",
        "X: y\r\n Content-Length: 3\r\nTransfer-Encoding: chunked",
        "X: y\r\n\tfolded\r\nContent-Length: 3",
        "X: y\nTransfer-Encoding: chunked\r\nContent-Length: 3",
        "X: y\rTransfer-Encoding: chunked\r\nContent-Length: 3",
        "X\u{0}: y\r\nContent-Length: 3",
        "X: \u{0}\r\nContent-Length: 3",
    ]

    @Test("A body with two lengths, or a length that is none, is refused")
    func lengths() async throws {
        try await expectRefusals(
            Self.lengthsRefused.map { fields in
                "PUT /v1/entries/put HTTP/1.1\r\nHost: x\r\n\(fields)\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
            }
        )
    }

    static let linesRefused = [
        "GET /v1/entries/kept HTTP/1.1\nHost: x\n\n",
        "GET /v1/entries/kept HTTP/1.1\r\nHost: x\n\r\n",
        "GET /v1/entries/kept HTTP/1.1\r\n Host: x\r\n\r\n",
        "GET /v1/entries/kept HTTP/1.1\r\nHost: x\r\n\rX: y\r\n\r\n",
        "GET\t/v1/entries/kept\tHTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /v1/entries/kept HTTP/1.1 \r\nHost: x\r\n\r\n",
        "GET /v1/entries/kept HTTP/1.1x\r\nHost: x\r\n\r\n",
        "GET /v1/entries/kept HTTP/01.1\r\nHost: x\r\n\r\n",
        "GET /v1/entries/kept HTTP/1.10\r\nHost: x\r\n\r\n",
        "GET /v1/entries/kept http/1.1\r\nHost: x\r\n\r\n",
        "GET /v1/entries/kept\r\nHost: x\r\n\r\n",
        "GET /v1/entries/ke pt HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /v1/entries/ke\u{7F}pt HTTP/1.1\r\nHost: x\r\n\r\n",
    ]

    @Test(
        "A coding before the chunks is not known, and what follows is not read",
        arguments: ["gzip, chunked", "x, chunked", "chunked\r\nTransfer-Encoding: gzip, chunked"]
    )
    func codings(value: String) async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let head = "PUT /v1/entries/put HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: \(value)\r\n"
            client.begin(Array("\(head)\r\n3\r\nabc\r\n0\r\n\r\n\(Self.hidden)".utf8))
            let response = try await client.response(to: "PUT")
            #expect([400, 501].contains(response.status))
            #expect(value.hasPrefix("chunked") || response.status == 501)
            #expect(response.headers["Connection"] == "close")
            #expect(try await client.rest().isEmpty)
            let other = try await server.connect()
            #expect(try await other.ask("GET", "/v1/entries/put").status == 404)
        }
    }

    private static let good = "GET /v1/entries/kept HTTP/1.1\r\nHost: x\r\n\r\n"

    /// What stands before a request of another protocol, and how many answers it has.
    private static let before = [
        ("", 0), ("\r\n", 0), (good, 1), (good + good, 2),
        (
            "PUT /v1/entries/a HTTP/1.1\r\nHost: x\r\nContent-Length: 19\r\n\r\nGET / RTSP/1.0\r\n\r\nx",
            1
        ),
        (
            "PUT /v1/entries/a HTTP/1.1\r\nHost: x\r\nX: GET / RTSP/1.0\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n13\r\nGET / RTSP/1.0\r\n\r\nx\r\n0\r\nT: u\r\n\r\n",
            1
        ),
    ]

    @Test(
        "A request of another protocol is refused, at any place and however it is cut",
        arguments: ["GET /v1/entries/kept RTSP/1.0", "POST /v1/evict RTSP/1.1", "SOURCE / ICE/1.0"]
    )
    func protocols(line: String) async throws {
        try await ServerFixture.run { server in
            try await server.store("kept", [1])
            for (before, count) in Self.before {
                for size in [1, 7, 5_000] {
                    let client = try await server.connect()
                    var rest = Array("\(before)\(line)\r\nHost: x\r\n\r\n\(Self.good)".utf8)[...]
                    while !rest.isEmpty {
                        client.begin(Array(rest.prefix(size)))
                        rest = rest.dropFirst(size)
                    }
                    for _ in 0..<count {
                        #expect(try await client.response().status < 300, "\(before)")
                    }
                    let refusal = try await client.response()
                    #expect(refusal.status == 400, "\(before)")
                    #expect(refusal.headers["Connection"] == "close")
                    #expect(try await client.rest().isEmpty)
                    await client.hangUp()
                }
            }
        }
    }

    @Test("A line that ends or begins otherwise is refused")
    func lines() async throws {
        try await expectRefusals(Self.linesRefused)
    }

    static let chunksRefused = [
        "0x3\r\nabc\r\n0\r\n\r\n", "+3\r\nabc\r\n0\r\n\r\n", " 3\r\nabc\r\n0\r\n\r\n",
        "3 \r\nabc\r\n0\r\n\r\n", "3\nabc\r\n0\r\n\r\n", "3\rabc\r\n0\r\n\r\n",
        "3\r\nabc\n0\r\n\r\n", "3\r\nabc0\r\n\r\n", "3\r\nabcd\r\n0\r\n\r\n",
        "10000000000000003\r\nabc\r\n0\r\n\r\n",
        ";\r\nabc\r\n0\r\n\r\n", "3;a\nb\r\nabc\r\n0\r\n\r\n", "\r\nabc\r\n0\r\n\r\n",
        "3\r\nabc\r\n-0\r\n\r\n", "3\r\nabc\r\n0\n\n",
    ]

    @Test("Chunks that could be cut otherwise are refused")
    func chunks() async throws {
        try await expectRefusals(
            Self.chunksRefused.map { body in
                "PUT /v1/entries/put HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n\(body)"
            }
        )
    }

    @Test("Valid forms are accepted: chunk extensions, trailers, space around values")
    func allowed() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let head = "PUT /v1/entries/put HTTP/1.1\r\nHost:\tx \r\n"
            for rest in [
                "Transfer-Encoding:  Chunked \r\n\r\n3;name=value\r\nabc\r\n0\r\n\r\n",
                "Transfer-Encoding: chunked\r\n\r\n003\r\nabc\r\n0\r\nX-Trailer: y\r\n\r\n",
                "Content-Length:\t3 \r\n\r\nabc",
                "content-length: 003\r\n\r\nabc",
            ] {
                try await client.send(head + rest)
                #expect(try await client.response(to: "PUT").status < 300, "\(rest)")
                #expect(try await client.ask("GET", "/v1/entries/put").text == "abc")
            }
        }
    }
}
