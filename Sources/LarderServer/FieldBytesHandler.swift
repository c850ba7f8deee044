import LarderModel
import NIOCore
import NIOHTTP1

/// Writes one head with the bytes that its field values stand for (``FieldBytes``).
///
/// It is the last on the way to the socket, and removes itself with the head: heads that need it are
/// rare.
final class FieldBytesHandler: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Has the next head written by one of these.
    static func add(to pipeline: ChannelPipeline) {
        try? pipeline.syncOperations.addHandler(FieldBytesHandler(), position: .first)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let head = unwrapOutboundIn(data)
        let bytes = ByteBuffer(bytes: FieldBytes.unescaped(head.readableBytesView))
        context.write(wrapOutboundOut(bytes), promise: promise)
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }
}

extension HTTPHeaders {
    /// What the daemon is, as every answer tells it (RFC 9110 10.2.4).
    static let server = "larderd/\(Version.text)"

    /// Adds the fields of every answer, apart from those that it has.
    mutating func addGeneral(date: String) {
        if !contains(name: "Date") { add(name: "Date", value: date) }
        if !contains(name: "Server") { add(name: "Server", value: Self.server) }
    }

    /// Whether a value may stand for bytes that are not UTF-8.
    var mayHoldFieldBytes: Bool { contains { $0.value.utf8.contains(0xF4) } }
}
