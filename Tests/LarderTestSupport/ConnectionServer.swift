package import NIOCore
import NIOPosix
import Synchronization

/// Listens, and serves each connection by a task of its own.
///
/// NIO's own channel of connections is not used for it: what it accepts in the moment in which it
/// is closed it drops, and a `NIOAsyncChannel` that is dropped unserved ends the process.
package final class ConnectionServer: Sendable {
    package typealias Serve<Inbound: Sendable, Outbound: Sendable> =
        @Sendable (
            NIOAsyncChannelInboundStream<Inbound>, NIOAsyncChannelOutboundWriter<Outbound>
        ) async throws -> Void

    /// Where it listens.
    package enum Address: Sendable {
        /// On 127.0.0.1; 0 for a free port.
        case port(Int)
        /// A Unix socket.
        case path(String)
    }

    private struct State {
        var tasks: [Task<Void, Never>] = []
        var isStopped = false
    }

    /// The connections that were accepted and that ended, by their number.
    private let log: ConnectionLog
    private let listener = Mutex<(any Channel)?>(nil)
    private let state = Mutex(State())

    private init(_ log: ConnectionLog) {
        self.log = log
    }

    /// A server that listens.
    ///
    /// Each connection's handlers are added by `configure`, and it ends when `serve` does. One that
    /// breaks is what tests are about, and no failure of the server.
    package static func start<Inbound: Sendable, Outbound: Sendable>(
        at address: Address,
        log: ConnectionLog = ConnectionLog(),
        configure: @escaping @Sendable (any Channel) throws -> Void = { _ in },
        serve: @escaping Serve<Inbound, Outbound>
    ) async throws -> ConnectionServer {
        let server = ConnectionServer(log)
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try configure(channel)
                    server.take(try NIOAsyncChannel(wrappingChannelSynchronously: channel), serve)
                }
            }
        let listener =
            switch address {
            case .port(let port): try await bootstrap.bind(host: "127.0.0.1", port: port).get()
            case .path(let path): try await bootstrap.bind(unixDomainSocketPath: path).get()
            }
        server.listener.withLock { $0 = listener }
        return server
    }

    /// The port that it listens on; 0 on a Unix socket.
    package var port: Int {
        listener.withLock { $0?.localAddress?.port } ?? 0
    }

    /// Closes the listener and every connection, and waits for them to be gone.
    package func stop() async {
        try? await listener.withLock { $0 }?.close()
        let tasks = state.withLock { state in
            state.isStopped = true
            defer { state.tasks = [] }
            return state.tasks
        }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }

    private func take<Inbound: Sendable, Outbound: Sendable>(
        _ connection: NIOAsyncChannel<Inbound, Outbound>,
        _ serve: @escaping Serve<Inbound, Outbound>
    ) {
        log.follow(connection.channel)
        let task = Task<Void, Never> { try? await connection.executeThenClose(serve) }
        let isStopped = state.withLock { state in
            if !state.isStopped { state.tasks.append(task) }
            return state.isStopped
        }
        if isStopped { task.cancel() }
    }
}

/// The connections that were accepted and that ended, by their number, counted from 0.
package final class ConnectionLog: Sendable {
    package let accepted = Recorder<Int>()
    package let closed = Recorder<Int>()
    private let count = Mutex(0)

    package init() {}

    fileprivate func follow(_ channel: any Channel) {
        let number = count.withLock { count in
            defer { count += 1 }
            accepted.record(count)
            return count
        }
        // Not at its task's end: that may wait at a gate of its own.
        channel.closeFuture.whenComplete { [closed] _ in closed.record(number) }
    }
}
