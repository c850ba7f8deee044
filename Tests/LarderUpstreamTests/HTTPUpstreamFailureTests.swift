import LarderModel
import LarderTestSupport
import LarderUpstream
import NIOCore
import NIOPosix
import Testing

@Suite("Why an origin gave no answer", .timeLimit(.minutes(5)))
struct HTTPUpstreamFailureTests {
    @Test("A refused connection is unreachable immediately, long before the connect timeout")
    func connectionRefused() async throws {
        try await withOrigin { fixture in
            let fixture = fixture.with { $0.fetch.connectTimeout = .seconds(600) }
            await fixture.server.stop()
            let failure = await fixture.failure(
                of: try fixture.request(timeout: .seconds(600))
            )
            #expect(failure == .unreachable(host: "127.0.0.1", reason: "Connection refused"))
        }
    }

    @Test("A name that does not exist is unreachable")
    func unknownName() async throws {
        try await withOrigin { fixture in
            var request = try fixture.request()
            request.url = try WebURL("http://larder.invalid/")
            let failure = await fixture.failure(of: request)
            #expect(
                failure == .unreachable(host: "larder.invalid", reason: "the name was not found")
            )
        }
    }

    @Test("TLS to a port that does not speak it is unreachable")
    func noTLS() async throws {
        try await withOrigin { fixture in
            var request = try fixture.request()
            request.url = try WebURL("https://127.0.0.1:\(fixture.server.port)/")
            let failure = await fixture.failure(of: request)
            guard case .unreachable(host: "127.0.0.1", reason: _) = failure else {
                Issue.record("it ended with \(String(describing: failure))")
                return
            }
            #expect(fixture.server.requests.all == [])
        }
    }

    @Test("Time that is over before the head is told as that")
    func timeoutBeforeHead() async throws {
        try await withOrigin { fixture in
            fixture.server.answer("/", with: .never)
            // Long enough for the connection to be made on a busy machine.
            let request = try fixture.request(timeout: .seconds(8))
            #expect(await fixture.failure(of: request) == .timedOut(.head))
            _ = try await fixture.server.closed.element(0)
        }
    }

    @Test("Time in all covers the body")
    func timeoutInBody() async throws {
        try await withOrigin { fixture in
            fixture.server.answer("/", with: Self.stopsInBody)
            // Long enough for the head to come on a busy machine.
            let request = try fixture.request(timeout: .seconds(8))
            #expect(await fixture.failure(of: request) == .timedOut(.body))
            _ = try await fixture.server.closed.element(0)
        }
    }

    @Test("A body that falls silent while it is waited for is given up")
    func silence() async throws {
        try await withOrigin(readTime: .milliseconds(100)) { fixture in
            fixture.server.answer("/", with: Self.stopsInBody)
            let request = try fixture.request()
            #expect(await fixture.failure(of: request) == .timedOut(.body))
        }
    }

    @Test(
        "A connection that is closed in the body or in the head is broken off",
        arguments: [
            "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", "HTTP/1.1 200",
        ]
    )
    func closedEarly(_ bytes: String) async throws {
        try await withOrigin { fixture in
            fixture.server.answer("/", with: .raw(bytes))
            let failure = await fixture.failure(of: try fixture.request())
            #expect(failure == .brokenOff(reason: "the connection was closed"))
        }
    }

    @Test(
        "An answer that is not HTTP is broken off",
        arguments: [
            "SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n",
            "HTTP/1.1\r\n 200 OK\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 101 Other\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
        ]
    )
    func garbage(_ bytes: String) async throws {
        try await withOrigin { fixture in
            fixture.server.answer("/", with: OriginAnswer([.text(bytes), .wait(Gate())]))
            let failure = await fixture.failure(of: try fixture.request())
            guard case .brokenOff = failure else {
                Issue.record("it ended with \(String(describing: failure))")
                return
            }
        }
    }

    @Test(
        "A head above the limit is refused",
        arguments: [
            (fields: 20, bytes: 4_000), (fields: 1, bytes: 100_000), (fields: 300, bytes: 1),
            (fields: 100, bytes: 70_000),
        ]
    )
    func hugeHead(_ size: (fields: Int, bytes: Int)) async throws {
        try await withOrigin { fixture in
            var headers = ["Content-Length": "0"]
            for index in 0..<size.fields {
                headers["X-\(index)"] = String(repeating: "v", count: size.bytes)
            }
            let steps = [OriginAnswer.Step.head(200, headers), .wait(Gate())]
            fixture.server.answer("/", with: OriginAnswer(steps))
            let request = try fixture.request()
            #expect(await fixture.failure(of: request) == .headTooLarge)
            _ = try await fixture.server.closed.element(0)
        }
    }

    static let stopsInBody = OriginAnswer([
        .head(200, ["Content-Length": "10"]), .text("half"), .wait(Gate()),
    ])
}
