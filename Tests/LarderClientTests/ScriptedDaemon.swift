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
    let path: String

    private let directory: TemporaryDirectory
    private let script = Mutex<[String: [OriginAnswer]]>([:])
    private let log = ConnectionLog()
    private let running = Mutex<ConnectionServer?>(nil)

    init() async throws {
        directory = try TemporaryDirectory()
        path = directory.path("api.sock")
        let server = try await ConnectionServer.start(
            at: .path(path),
            log: log,
            configure: { channel in
                try channel.pipeline.syncOperations.addHandler(
                    ByteToMessageHandler(HTTPRequestDecoder())
                )
            },
            serve: { try await self.serve($0, $1) }
        )
        running.withLock { $0 = server }
    }

    /// The connections that were accepted and that ended, by their number.
    var accepted: Recorder<Int> { log.accepted }
    var closed: Recorder<Int> { log.closed }

    /// Closes the listener and every connection, and waits for them to be gone.
    func stop() async {
        await running.withLock { $0 }?.stop()
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
                bodyBytes.record(body.count)
            case .end:
                guard let head else { return }
                let request = DaemonRequest(head: head, body: body)
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
