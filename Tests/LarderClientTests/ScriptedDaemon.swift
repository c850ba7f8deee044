import LarderModel
import LarderTestSupport
import LarderWire
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A real HTTP/1.1 server on a Unix socket whose answers a test scripts, also broken ones.
///
/// It runs until ``stop()``. Where nothing is scripted it answers with a miss.
final class ScriptedDaemon: Sendable {
    /// Every request, as soon as its last byte is here and before it is answered.
    let requests = Recorder<DaemonRequest>()
    /// After each piece of a body that came: how many bytes of it there are.
    let bodyBytes = Recorder<Int>()
    /// The connections that were accepted and that ended, by their number.
    let accepted = Recorder<Int>()
    let closed = Recorder<Int>()
    let path: String

    private let directory: TemporaryDirectory
    private let script = Mutex<[String: [OriginAnswer]]>([:])
    private let running = Mutex<(listener: any Channel, serving: Task<Void, Never>)?>(nil)

    init() async throws {
        directory = try TemporaryDirectory()
        path = directory.path("api.sock")
        let listener = try await Self.listen(path)
        running.withLock { running in
            let serving = Task { [self] in
                // A connection that breaks is what tests are about, and no failure of the server.
                _ = try? await serve(listener)
            }
            running = (listener.channel, serving)
        }
    }

    /// Closes the listener and every connection, and waits for them to be gone.
    func stop() async {
        guard let (listener, serving) = running.withLock({ $0 }) else { return }
        // Not by cancelling: a connection that was accepted and not yet served would be leaked.
        listener.close(promise: nil)
        await serving.value
    }

    /// Answers the next requests for a path (its query included) in this order; the last answer
    /// stays for all that come after it.
    func answer(_ path: String, with answers: OriginAnswer...) {
        script.withLock { $0[path] = answers }
    }

    func answer(_ path: String, with answers: [OriginAnswer]) {
        script.withLock { $0[path] = answers }
    }

    private func nextAnswer(to request: DaemonRequest) -> OriginAnswer {
        script.withLock { script in
            guard let answers = script[request.path], let first = answers.first else {
                return .problem(Problem(.miss, "nothing is scripted for \(request.path)"))
            }
            if answers.count > 1 { script[request.path] = Array(answers.dropFirst()) }
            return first
        }
    }
}

extension ScriptedDaemon {
    private typealias Connection = NIOAsyncChannel<HTTPServerRequestPart, ByteBuffer>
    private typealias Listener = NIOAsyncChannel<Connection, Never>

    private static func listen(_ path: String) async throws -> Listener {
        try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(unixDomainSocketPath: path) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        ByteToMessageHandler(HTTPRequestDecoder())
                    )
                    return try Connection(wrappingChannelSynchronously: channel)
                }
            }
    }

    private func serve(_ listener: Listener) async throws {
        try await listener.executeThenClose { connections in
            try await withThrowingDiscardingTaskGroup { group in
                for try await connection in connections {
                    let number = accepted.all.count
                    accepted.record(number)
                    let closed = self.closed
                    connection.channel.closeFuture.whenComplete { _ in closed.record(number) }
                    group.addTask { try? await self.serve(connection) }
                }
                group.cancelAll()
            }
        }
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
                    bodyBytes.record(body.count)
                case .end:
                    guard let head else { return }
                    let request = DaemonRequest(head: head, body: body)
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

/// What a client sent.
struct DaemonRequest: Sendable {
    let method: String
    /// As on the request line: with the query.
    let path: String
    let headers: HeaderFields
    let body: [UInt8]

    init(head: HTTPRequestHead, body: [UInt8]) {
        method = head.method.rawValue
        path = head.uri
        headers = HeaderFields(head.headers.map { .init(name: $0.name, value: $0.value) })
        self.body = body
    }

    var bodyText: String { String(decoding: body, as: UTF8.self) }
}
