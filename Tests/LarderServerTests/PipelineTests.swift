import LarderModel
import LarderTestSupport
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import LarderServer

@Suite("Pipelined requests", .timeLimit(.minutes(5)))
struct PipelineTests {
    @Test("Requests that are not taken stay as bytes, in their order, and the end comes after them")
    func held() throws {
        let request = "GET /ab HTTP/1.1\r\n\r\n"
        let lines = RequestLines()
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandler(lines)
        let end = EndRecorder()
        try channel.pipeline.syncOperations.addHandler(end)
        var taken = 0
        lines.takesMore = { taken < 3 }
        lines.readAhead = { bytes, _ in
            taken += 1
            return bytes.getString(at: bytes.readerIndex, length: bytes.readableBytes)?
                .firstRange(of: "\r\n\r\n").map { _ in request.utf8.count }
        }
        let all = String(repeating: request, count: 10)
        try channel.writeInbound(ByteBuffer(string: all))
        channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(taken == 3)
        #expect(lines.holdsBytes)
        #expect(!end.hasEnded)
        lines.takesMore = { true }
        lines.goOn()
        #expect(taken == 10)
        #expect(!lines.holdsBytes)
        #expect(end.hasEnded)
        _ = try channel.finish()
    }

    @Test("The counted size of a parsed head is at least the size of its texts")
    func heads() {
        var head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/")
        for index in 0..<20 { head.headers.add(name: "N\(index)", value: "v") }
        #expect(head.heldBytes >= 20 * 2 * MemoryLayout<String>.stride)
        let short = head.heldBytes
        head.headers.add(name: "Long", value: String(repeating: "x", count: 10_000))
        #expect(head.heldBytes >= short + 10_000)
    }

    @Test("An entry in chunks that is replaced all the time is always found")
    func replaced() async throws {
        try await ServerFixture.run { server in
            let path = "/v1/entries/x"
            let body = [UInt8](repeating: 7, count: 3 * Limits.inlineBodyBytesMax)
            let writer = try await server.connect()
            #expect(try await writer.ask("PUT", path, body: body).status == 201)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for index in 0..<150 {
                        let other = [UInt8](repeating: UInt8(index), count: body.count)
                        let answer = try await writer.ask("PUT", path, body: other)
                        #expect(answer.status == 204)
                    }
                }
                let reader = try await server.connect()
                for _ in 0..<150 {
                    let answer = try await reader.ask("GET", path)
                    #expect(answer.status == 200)
                    #expect(Set(answer.body).count == 1)
                    #expect(answer.body.count == body.count)
                }
                try await group.waitForAll()
            }
        }
    }

    private final class EndRecorder: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private(set) var hasEnded = false

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if event as? ChannelEvent == .inputClosed { hasEnded = true }
        }
    }
}
