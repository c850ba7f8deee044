import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import LarderUpstream

@Suite("Requests on a connection")
struct RequestHandlerTests {
    @Test(
        "The head of a request goes out with its body, and that of an upload before it",
        arguments: [false, true]
    )
    func head(ofUpload isUpload: Bool) throws {
        let channel = EmbeddedChannel(handler: RequestHandler(head: ResponseHeadHandler()))
        var request = HTTPRequestHead(version: .http1_1, method: .PUT, uri: "/a")
        request.headers.add(name: "Content-Length", value: "2")
        if isUpload { request.headers.add(name: "Connection", value: "close") }
        let head = HTTPClientRequestPart.head(request)
        channel.write(head, promise: nil)
        channel.flush()
        let early = try channel.readOutbound(as: HTTPClientRequestPart.self)
        #expect(early == (isUpload ? head : nil))
        let body = HTTPClientRequestPart.body(.byteBuffer(ByteBuffer(string: "{}")))
        channel.write(body, promise: nil)
        channel.flush()
        var parts: [HTTPClientRequestPart] = []
        while let part = try channel.readOutbound(as: HTTPClientRequestPart.self) {
            parts.append(part)
        }
        #expect(parts == (isUpload ? [body] : [head, body]))
        _ = try channel.finish()
    }

    @Test("The head of a request goes out alone while the channel takes no body")
    func fullChannel() throws {
        let channel = EmbeddedChannel(handler: RequestHandler(head: ResponseHeadHandler()))
        channel.isWritable = false
        var request = HTTPRequestHead(version: .http1_1, method: .PUT, uri: "/a")
        request.headers.add(name: "Content-Length", value: "2")
        let head = HTTPClientRequestPart.head(request)
        channel.write(head, promise: nil)
        channel.flush()
        #expect(try channel.readOutbound(as: HTTPClientRequestPart.self) == head)
        _ = try channel.finish()
    }
}
