import LarderModel
import LarderTestSupport
import LarderUpstream
import NIOCore
import Testing

@Suite("Connections that are closed before an answer", .timeLimit(.minutes(5)))
struct ClosedConnectionTests {
    @Test(
        "A read whose connection is closed is repeated once, and not again",
        arguments: ["GET", "HEAD"]
    )
    func read(_ method: String) async throws {
        try await withOrigin { fixture in
            fixture.server.answer("/", with: .raw(""))
            var request = try fixture.request()
            request.method = method
            #expect(await fixture.failure(of: request) == .closed(host: "127.0.0.1", hasLeft: true))
            #expect(fixture.server.requests.all.count == 1 + Limits.closedConnectionsMax)
            #expect(fixture.server.accepted.all.count == 1 + Limits.closedConnectionsMax)
        }
    }

    @Test("A write that may have arrived is not repeated")
    func write() async throws {
        try await withOrigin { fixture in
            fixture.server.answer("/", with: .raw(""))
            var request = try fixture.request()
            request.method = "POST"
            request.purpose = .write
            #expect(await fixture.failure(of: request) == .closed(host: "127.0.0.1", hasLeft: true))
            #expect(fixture.server.requests.all.count == 1)
        }
    }

    @Test("An origin that closes every connection as it is made is connected to twice")
    func closedAtOnce() async throws {
        try await withOrigin { fixture in
            let log = ConnectionLog()
            let server = try await ConnectionServer.start(
                at: .port(0),
                log: log,
                serve: {
                    (
                        _: NIOAsyncChannelInboundStream<ByteBuffer>,
                        _: NIOAsyncChannelOutboundWriter<ByteBuffer>
                    ) in
                }
            )
            var request = try fixture.request()
            request.url = try WebURL("http://127.0.0.1:\(server.port)/")
            let failure = await fixture.failure(of: request)
            #expect(
                [true, false].map { .closed(host: "127.0.0.1", hasLeft: $0) }.contains(failure)
            )
            #expect(log.accepted.all.count == 1 + Limits.closedConnectionsMax)
            await server.stop()
        }
    }
}
