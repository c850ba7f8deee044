import AsyncHTTPClient
import FoundationEssentials
import LarderModel
import NIOCore
import NIOHTTP1

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The HTTP client of a ``LarderClient``, and the socket that it connects to.
///
/// ``SocketChoice`` decides the socket once. If the backlog of the socket is full, the connection
/// tries again for ``Limits/socketConnectTime``, before it sends a byte of the request.
final class DaemonConnection: Sendable {
    private let http: HTTPClient
    private let choice: SocketChoice
    private let time: ClientTime
    /// The value of `Larder-Client`, by which a watch knows the client's own changes.
    private let name: String

    /// - Parameters:
    ///   - paths: The sockets to choose from, in this order.
    ///   - name: The client's name, checked with each request.
    ///   - time: Source of the pauses.
    init(paths: [String], name: String, time: ClientTime) {
        self.name = name
        choice = SocketChoice(paths)
        self.time = time
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.httpVersion = .http1Only
        configuration.timeout.connect = TimeAmount(Limits.socketConnectTime)
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit =
            Limits.clientConnectionsMax
        configuration.http1_1ConnectionDebugInitializer = AnswerBeforeClose.add
        http = HTTPClient(configuration: configuration)
    }

    deinit {
        // Fails if `shutdown()` ran before, which does not matter.
        http.shutdown { _ in }
    }

    var socketInUse: String? { choice.path }

    func shutdown() async {
        // Fails only if the HTTP client is already shut down.
        try? await http.shutdown()
    }

    /// Sends the request and returns the answer's head; throws for a status from 300 on.
    func send(_ request: SocketRequest) async throws(LarderError) -> HTTPClientResponse {
        let response = try await exchange(request)
        guard response.status.code >= 300 else { return response }
        throw try await response.refusal(of: request)
    }

    /// Sends the request and returns the whole body of the answer, which is a report.
    func report(_ request: SocketRequest) async throws(LarderError) -> [UInt8] {
        guard let limit = request.timeLimit else {
            return try await send(request).wholeBody(upTo: Limits.reportBytesMax)
        }
        // The HTTP client's deadline ends with the answer's head.
        return try await ClientTime.limit(limit, late: .timedOut) { () async throws(LarderError) in
            try await self.send(request).wholeBody(upTo: Limits.reportBytesMax)
        }
    }

    /// Sends the request and decodes its answer, ignoring members of a newer daemon.
    func send<Value: Decodable & Sendable>(
        _ request: SocketRequest,
        answer: Value.Type = Value.self
    ) async throws(LarderError) -> Value {
        let json = try await report(request)
        SentReports.note(json)
        return try Self.read(json)
    }

    /// Decodes an answer, ignoring members of a newer daemon.
    static func read<Value: Decodable>(_ json: [UInt8]) throws(LarderError) -> Value {
        do throws(APIDecodingError) {
            return try APIDecoder(.lenient).decode(from: json)
        } catch {
            throw .badAnswer(error.message)
        }
    }

    private func exchange(
        _ request: SocketRequest
    ) async throws(LarderError) -> HTTPClientResponse {
        guard ClientTag(uid: 0, name: name) != nil else {
            throw .problem(
                Problem(
                    .badRequest,
                    "the client's name '\(name)' is invalid",
                    hint: "Give 1 to \(Limits.clientNameBytesMax) visible ASCII characters."
                )
            )
        }
        let path = try choice.decide()
        var waited = Duration.zero
        var pause = Limits.socketRetryBase
        while true {
            do {
                return try await execute(request, at: path)
            } catch {
                switch Self.refusal(error) {
                case nil: throw LarderError(error)
                case .denied: throw .socketRefused(path: path)
                case .nobodyThere(let reason):
                    throw .unreachable([SocketFailure(path: path, reason: reason)])
                case .busy:
                    guard waited + pause <= Limits.socketConnectTime else {
                        let reason = "too many wait to be accepted"
                        throw .unreachable([SocketFailure(path: path, reason: reason)])
                    }
                }
            }
            try await time.wait(pause)
            waited += pause
            pause *= 2
        }
    }

    /// The reason why no connection was made; nil for an error on a connection.
    private static func refusal(_ error: any Error) -> SocketRefusal? {
        (error as? IOError).flatMap { SocketRefusal(errno: $0.errnoCode) }
    }

    private func execute(
        _ request: SocketRequest,
        at path: String
    ) async throws -> HTTPClientResponse {
        guard path.utf8.count <= Limits.socketPathBytesMax,
            let url = URL(httpURLWithSocketPath: path, uri: request.target)
        else { throw IOError(errnoCode: ENAMETOOLONG, reason: "connect") }
        var prepared = HTTPClientRequest(url: url.absoluteString)
        prepared.method = request.method
        prepared.headers = request.headers
        // The HTTP client names no host for a socket, and HTTP/1.1 needs one (RFC 9112 3.2).
        prepared.headers.replaceOrAdd(name: "Host", value: "larder")
        prepared.headers.replaceOrAdd(name: "Larder-Client", value: name)
        prepared.body = request.body
        guard let timeLimit = request.timeLimit else {
            return try await http.execute(prepared, deadline: .distantFuture)
        }
        return try await http.execute(prepared, timeout: TimeAmount(timeLimit))
    }
}

extension LarderError {
    /// The error of an exchange that failed after the client was connected.
    init(_ error: any Error) {
        switch error {
        case let error as LarderError: self = error
        case let error as BodyFailure: self = .bodyFailed(error.reason)
        case is CancellationError: self = .cancelled
        case let error as HTTPClientError: self = Self.named(error)
        case is IOError, is ChannelError: self = .cutOff
        case HTTPParserError.invalidEOFState: self = .cutOff
        case is NIOTooManyBytesError: self = .badAnswer("it is too long")
        default: self = .badAnswer("\(error)")
        }
    }
    private static func named(_ error: HTTPClientError) -> LarderError {
        switch error {
        case .cancelled, .alreadyShutdown: .cancelled
        case .remoteConnectionClosed, .requestStreamCancelled: .cutOff
        case .connectTimeout, .getConnectionFromPoolTimeout, .deadlineExceeded: .timedOut
        case .bodyLengthMismatch: .bodyFailed("they are not as many as were announced")
        default: .badAnswer(error.shortDescription)
        }
    }
}

/// Closes a connection only after the event loop's present turn.
///
/// The daemon may refuse a request before it has all of its body. The HTTP client closes such a
/// connection first and passes the end of the answer on second. The close fails the writes that are
/// left, the HTTP client then fails the request with their error, and the answer is lost.
final class AnswerBeforeClose: ChannelOutboundHandler {
    typealias OutboundIn = NIOAny

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        context.eventLoop.assumeIsolated().execute { context.close(mode: mode, promise: promise) }
    }

    /// For the HTTP client, which calls it with each new connection on the connection's event loop.
    @Sendable
    static func add(to channel: any Channel) -> EventLoopFuture<Void> {
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(AnswerBeforeClose(), position: .first)
        }
    }
}

/// A caller's chunks as the HTTP client takes them.
struct BufferedBody<Chunks: AsyncSequence & Sendable>: AsyncSequence, Sendable
where Chunks.Element == [UInt8] {
    let chunks: Chunks

    func makeAsyncIterator() -> Iterator { Iterator(chunks: chunks.makeAsyncIterator()) }

    struct Iterator: AsyncIteratorProtocol {
        var chunks: Chunks.AsyncIterator

        mutating func next() async throws -> ByteBuffer? {
            do {
                return try await chunks.next(isolation: #isolation).map { ByteBuffer(bytes: $0) }
            } catch let error as CancellationError {
                throw error
            } catch {
                throw BodyFailure(reason: "\(error)")
            }
        }
    }
}

/// An error that the caller's sequence threw, as distinct from an error of the connection.
struct BodyFailure: Error {
    let reason: String
}
