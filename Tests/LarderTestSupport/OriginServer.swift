package import LarderModel
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization

/// A real HTTP/1.1 server on 127.0.0.1 whose answers a test scripts.
///
/// It can be stopped and started again on the same port, as an origin that goes offline and comes
/// back. Where nothing is scripted it answers 404.
package final class OriginServer: Sendable {
    package typealias Handler = @Sendable (OriginRequest) -> OriginAnswer

    /// Every request, as soon as its last byte is here and before it is answered.
    package let requests = Recorder<OriginRequest>()
    /// The connections that were accepted and that ended, by their number.
    package let accepted = Recorder<Int>()
    package let closed = Recorder<Int>()
    /// The bytes sent on a connection when nothing could be written for the stall time; see
    /// ``start(reportingStallsAfter:)``.
    package let stalls: Recorder<Int>
    package let port: Int

    private struct Script {
        var handler: Handler = { _ in .text("nothing here", status: 404) }
        var paths: [String: [OriginAnswer]] = [:]
    }

    private let script = Mutex(Script())
    private let running = Mutex<(listener: any Channel, task: Task<Void, Never>)?>(nil)
    private let listening: Listening

    /// How it listens.
    private struct Listening: Sendable {
        var stallTime: Duration?
        var tls: NIOSSLContext?
    }

    private init(port: Int, _ listening: Listening, stalls: Recorder<Int>) {
        self.port = port
        self.listening = listening
        self.stalls = stalls
    }

    /// A server that listens on a free port.
    package static func start(
        reportingStallsAfter stallTime: Duration? = nil,
        tls: OriginTLS? = nil
    ) async throws -> OriginServer {
        let stalls = Recorder<Int>()
        let listening = Listening(stallTime: stallTime, tls: try tls?.context())
        let listener = try await listen(port: 0, listening, stalls: stalls)
        let port = listener.channel.localAddress?.port ?? 0
        let server = OriginServer(port: port, listening, stalls: stalls)
        server.serve(listener)
        return server
    }

    /// Closes the listener and every connection, and waits for them to be gone.
    package func stop() async {
        let stopped = running.withLock { running in
            defer { running = nil }
            return running
        }
        // Not by cancelling: a connection that was accepted and not yet served would be leaked.
        stopped?.listener.close(promise: nil)
        await stopped?.task.value
    }

    /// Listens again on the same port.
    package func restart() async throws {
        await stop()
        serve(try await Self.listen(port: port, listening, stalls: stalls))
    }

    /// `http://127.0.0.1:PORT` and `path`; with TLS `https://` and another name of that address.
    package func url(_ path: String = "/", host: String = "localhost") throws -> WebURL {
        try WebURL(
            listening.tls == nil
                ? "http://127.0.0.1:\(port)\(path)" : "https://\(host):\(port)\(path)"
        )
    }

    /// Answers everything that has no answer of its own.
    package func handle(_ handler: @escaping Handler) {
        script.withLock { $0.handler = handler }
    }

    /// Answers the next requests for a path (its query included) in this order; the last answer
    /// stays for all that come after it.
    package func answer(_ path: String, with answers: OriginAnswer...) {
        answer(path, with: answers)
    }

    package func answer(_ path: String, with answers: [OriginAnswer]) {
        script.withLock { $0.paths[path] = answers }
    }

    private func nextAnswer(to request: OriginRequest) -> OriginAnswer {
        let (scripted, handler) = script.withLock { script -> (OriginAnswer?, Handler) in
            let scripted = script.paths[request.path]?.first
            if script.paths[request.path, default: []].count > 1 {
                script.paths[request.path]?.removeFirst()
            }
            return (scripted, script.handler)
        }
        return scripted ?? handler(request)
    }
}

extension OriginServer {
    private typealias Connection = NIOAsyncChannel<HTTPServerRequestPart, ByteBuffer>
    private typealias Listener = NIOAsyncChannel<Connection, Never>

    private static func listen(
        port: Int,
        _ listening: Listening,
        stalls: Recorder<Int>
    ) async throws -> Listener {
        try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .bind(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let tls = listening.tls {
                        try pipeline.addHandler(NIOSSLServerHandler(context: tls))
                    }
                    if let stallTime = listening.stallTime {
                        try pipeline.addHandler(
                            IdleStateHandler(writeTimeout: TimeAmount(stallTime))
                        )
                        try pipeline.addHandler(StallHandler(reportingTo: stalls))
                    }
                    try pipeline.addHandler(ByteToMessageHandler(HTTPRequestDecoder()))
                    return try Connection(wrappingChannelSynchronously: channel)
                }
            }
    }

    private func serve(_ listener: Listener) {
        let task = Task<Void, Never> {
            // A connection that breaks is what tests are about, and no failure of the server.
            _ = try? await listener.executeThenClose { connections in
                try await withThrowingDiscardingTaskGroup { group in
                    for try await connection in connections {
                        let number = accepted.all.count
                        accepted.record(number)
                        // Not at the task's end: that may wait at a gate of its own.
                        connection.channel.closeFuture.whenComplete { [closed] _ in
                            closed.record(number)
                        }
                        group.addTask { try? await self.serve(connection) }
                    }
                    group.cancelAll()
                }
            }
        }
        running.withLock { $0 = (listener.channel, task) }
    }

    private func serve(_ connection: Connection) async throws {
        try await connection.executeThenClose { parts, output in
            var head: HTTPRequestHead?
            var body: [UInt8] = []
            for try await part in parts {
                switch part {
                case .head(let received):
                    head = received
                    body = []
                case .body(let bytes):
                    body += Array(bytes.readableBytesView)
                case .end:
                    guard let head else { return }
                    let request = OriginRequest(head: head, body: body)
                    requests.record(request)
                    guard try await send(nextAnswer(to: request), to: output) else { return }
                }
            }
        }
    }

    /// Carries the steps out; false when the connection is to be closed.
    private func send(
        _ answer: OriginAnswer,
        to output: NIOAsyncChannelOutboundWriter<ByteBuffer>
    ) async throws -> Bool {
        for step in answer.steps {
            switch step {
            case .send(let bytes): try await output.write(ByteBuffer(bytes: bytes))
            case .wait(let gate): try await gate.wait()
            case .repeat(let bytes):
                while true { try await output.write(ByteBuffer(bytes: bytes)) }
            case .close: return false
            }
        }
        return true
    }
}
