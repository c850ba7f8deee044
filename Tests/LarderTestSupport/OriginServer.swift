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
    private let log = ConnectionLog()
    /// The bytes sent on a connection when nothing could be written for the stall time; see
    /// ``start(reportingStallsAfter:)``.
    package let stalls = Recorder<Int>()

    private struct Script {
        var handler: Handler = { _ in .text("nothing here", status: 404) }
        var paths: [String: [OriginAnswer]] = [:]
    }

    private let script = Mutex(Script())
    private let running = Mutex<ConnectionServer?>(nil)
    private let knownPort = Mutex(0)
    private let listening: Listening

    /// How it listens.
    private struct Listening: Sendable {
        var stallTime: Duration?
        var tls: NIOSSLContext?
    }

    private init(_ listening: Listening) {
        self.listening = listening
    }

    /// A server that listens on a free port.
    package static func start(
        reportingStallsAfter stallTime: Duration? = nil,
        tls: OriginTLS? = nil
    ) async throws -> OriginServer {
        let server = OriginServer(Listening(stallTime: stallTime, tls: try tls?.context()))
        try await server.listen()
        return server
    }

    /// The connections that were accepted and that ended, by their number.
    package var accepted: Recorder<Int> { log.accepted }
    package var closed: Recorder<Int> { log.closed }

    package var port: Int { knownPort.withLock { $0 } }

    /// Closes the listener and every connection, and waits for them to be gone.
    package func stop() async {
        let stopped = running.withLock { running in
            defer { running = nil }
            return running
        }
        await stopped?.stop()
    }

    /// Listens again on the same port.
    package func restart() async throws {
        await stop()
        try await listen()
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
    private func listen() async throws {
        let server = try await ConnectionServer.start(
            at: .port(port),
            log: log,
            configure: { [listening, stalls] channel in
                let pipeline = channel.pipeline.syncOperations
                if let tls = listening.tls {
                    try pipeline.addHandler(NIOSSLServerHandler(context: tls))
                }
                if let stallTime = listening.stallTime {
                    try pipeline.addHandler(IdleStateHandler(writeTimeout: TimeAmount(stallTime)))
                    try pipeline.addHandler(StallHandler(reportingTo: stalls))
                }
                try pipeline.addHandler(ByteToMessageHandler(HTTPRequestDecoder()))
            },
            serve: { try await self.serve($0, $1) }
        )
        knownPort.withLock { $0 = server.port }
        running.withLock { $0 = server }
    }

    private func serve(
        _ parts: NIOAsyncChannelInboundStream<HTTPServerRequestPart>,
        _ output: NIOAsyncChannelOutboundWriter<ByteBuffer>
    ) async throws {
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
