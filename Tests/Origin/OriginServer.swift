import NIOCore
import NIOHTTP1
import NIOPosix

/// The origin on its socket.
///
/// Everything happens on one event loop, which guards all there is.
struct OriginServer {
    private let listener: any Channel

    var port: Int { listener.localAddress?.port ?? 0 }

    static func start(
        port: Int,
        _ origin: Origin,
        _ log: EffectLog?,
        keepsAlive: Bool
    ) async throws -> OriginServer {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let state = try await loop.submit {
            NIOLoopBound(OriginState(origin, log, keepsAlive: keepsAlive), eventLoop: loop)
        }
        .get()
        let listener = try await ServerBootstrap(group: loop)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    // What is no HTTP is answered with 400 by the error handling.
                    try pipeline.configureHTTPServerPipeline(
                        withPipeliningAssistance: false,
                        withErrorHandling: true
                    )
                    try pipeline.addHandler(OriginHandler(state.value))
                }
            }
            .bind(host: "127.0.0.1", port: port)
            .get()
        return OriginServer(listener: listener)
    }

    /// Until the listener is closed, which nobody does.
    func wait() async throws {
        try await listener.closeFuture.get()
    }
}

/// What the connections share; only the event loop touches it.
final class OriginState {
    var origin: Origin
    let log: EffectLog?
    /// Whether a connection goes on after an answer.
    let keepsAlive: Bool
    /// The requests that wait for `/_release`, with their connections.
    var held: [ObjectIdentifier: (handler: OriginHandler, request: Origin.Held)] = [:]

    init(_ origin: Origin, _ log: EffectLog?, keepsAlive: Bool) {
        self.origin = origin
        self.log = log
        self.keepsAlive = keepsAlive
    }
}
