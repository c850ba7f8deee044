import LarderModel
import LarderTestSupport
import NIOCore
import NIOHTTP1
import Testing

@Suite("Answers to a write whose body is still coming", .timeLimit(.minutes(5)))
struct EarlyRefusalTests {
    private static let refusal =
        "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig"

    @Test("The client gets a refusal that the origin gives before it has the body")
    func refusal() async throws {
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
                }
            }
        )
        var setup = GatewayFixture.Setup()
        setup.adjust = { $0.baseURL = try .init("http://127.0.0.1:\(server.port)") }
        try await GatewayFixture.run(setup) { gateway in
            for _ in 0..<5 {
                let client = try await gateway.connect()
                try await client.send(
                    "PUT /o/origin/a HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000\r\n\r\n"
                )
                client.listen()
                client.begin(pattern(2_000_000))
                let response = try await client.response(to: "PUT")
                #expect(response.status == 413)
                #expect(response.text == "big")
            }
        }
        await server.stop()
    }
}
