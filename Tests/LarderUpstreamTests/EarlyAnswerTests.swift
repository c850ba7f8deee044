import LarderModel
import LarderTestSupport
import LarderUpstream
import NIOCore
import NIOHTTP1
import Testing

@Suite("Answers that come before their request is sent", .timeLimit(.minutes(5)))
struct EarlyAnswerTests {
    private static let refusal =
        "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig"

    @Test(
        "An origin's refusal of a write whose body is still being sent is told",
        arguments: [4 << 20, 8 << 20, 32 << 20]
    )
    func refusal(count: Int) async throws {
        let gate = Gate()
        let server = try await ConnectionServer.start(
            at: .port(0),
            configure: { channel in
                try channel.pipeline.syncOperations.addHandler(
                    ByteToMessageHandler(HTTPRequestDecoder())
                )
            },
            serve: {
                (
                    parts: NIOAsyncChannelInboundStream<HTTPServerRequestPart>,
                    output: NIOAsyncChannelOutboundWriter<ByteBuffer>
                ) in
                for try await part in parts {
                    guard case .head = part else { continue }
                    try await output.write(ByteBuffer(string: Self.refusal))
                    // The body stays unread.
                    try await gate.wait()
                }
            }
        )
        try await withOrigin { fixture in
            var request = UpstreamRequest(
                origin: fixture.origin,
                url: try WebURL("http://127.0.0.1:\(server.port)/"),
                headers: HeaderFields([]),
                timeout: .seconds(30)
            )
            request.method = "PUT"
            request.purpose = .write
            request.body = [UInt8](repeating: 7, count: count)
            for _ in 0..<5 {
                let reply = try await fixture.upstream.ask(request)
                #expect(reply.status == 413)
                #expect(try await reply.bytes() == Array("big".utf8))
            }
        }
        await server.stop()
    }
}
