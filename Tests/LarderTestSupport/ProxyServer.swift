import NIOCore
import NIOPosix
import Synchronization

/// A real HTTP proxy on 127.0.0.1 that takes CONNECT and nothing else.
///
/// Every host that it is asked for is at 127.0.0.1, so that names count for it that lead nowhere
/// else.
package final class ProxyServer: Sendable {
    /// The head of each request, as it came.
    package let requests = Recorder<String>()
    /// The status line that it answers with instead of making a connection.
    private let refusal = Mutex<String?>(nil)
    private let running = Mutex<ConnectionServer?>(nil)

    private typealias Origin = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    private init() {}

    package static func start() async throws -> ProxyServer {
        let proxy = ProxyServer()
        let server = try await ConnectionServer.start(
            at: .port(0),
            serve: { try await proxy.serve($0, $1) }
        )
        proxy.running.withLock { $0 = server }
        return proxy
    }

    package var port: Int { running.withLock { $0?.port } ?? 0 }

    /// Has it refuse everything with a status such as `403 Forbidden`.
    package func refuse(with status: String) {
        refusal.withLock { $0 = status }
    }

    package func stop() async {
        await running.withLock { $0 }?.stop()
    }

    private func serve(
        _ input: NIOAsyncChannelInboundStream<ByteBuffer>,
        _ output: NIOAsyncChannelOutboundWriter<ByteBuffer>
    ) async throws {
        var pieces = input.makeAsyncIterator()
        var head = ""
        while !head.hasSuffix("\r\n\r\n") {
            guard let piece = try await pieces.next() else { return }
            head += String(buffer: piece)
        }
        requests.record(head)
        let target = head.split(separator: " ").dropFirst().first ?? ""
        let refusal = refusal.withLock { $0 }
        guard head.hasPrefix("CONNECT "), refusal == nil,
            let port = target.split(separator: ":").last.flatMap({ Int($0) })
        else {
            try await output.write(reply(refusal ?? "405 Method Not Allowed"))
            return
        }
        let origin = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try Origin(wrappingChannelSynchronously: channel)
                }
            }
        try await output.write(reply("200 Connected"))
        try await tunnel(&pieces, output, to: origin)
    }

    private func reply(_ status: String) -> ByteBuffer {
        ByteBuffer(string: "HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r\n")
    }

    /// Carries bytes both ways until one side ends.
    private func tunnel(
        _ pieces: inout NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator,
        _ output: NIOAsyncChannelOutboundWriter<ByteBuffer>,
        to origin: Origin
    ) async throws {
        try await origin.executeThenClose { answers, requests in
            async let back: Void = {
                for try await piece in answers { try await output.write(piece) }
                output.finish()
            }()
            while let piece = try await pieces.next() { try await requests.write(piece) }
            requests.finish()
            try await back
        }
    }
}
