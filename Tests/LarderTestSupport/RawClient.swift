import NIOCore
import NIOPosix
import Synchronization

/// A client on a Unix socket that sends the bytes it is given and reads only when it is told to.
///
/// Used by one task at a time.
package final class RawClient: Sendable {
    private let channel: any Channel
    private let inbox: Inbox

    package init(_ path: String) async throws {
        let inbox = Inbox()
        self.inbox = inbox
        channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.autoRead, value: false)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(InboxHandler(inbox))
                }
            }
            .connect(unixDomainSocketPath: path).get()
    }

    // MARK: Sending

    package func send(_ text: String) async throws {
        try await send(Array(text.utf8))
    }

    /// Returns when the socket has taken the bytes.
    package func send(_ bytes: [UInt8]) async throws {
        try await channel.writeAndFlush(ByteBuffer(bytes: bytes))
    }

    /// Sends what the socket takes, and goes on with the rest when it can; records their number
    /// once it has taken them all.
    @discardableResult
    package func begin(_ bytes: [UInt8]) -> Recorder<Int> {
        let taken = Recorder<Int>()
        channel.writeAndFlush(ByteBuffer(bytes: bytes)).whenSuccess { taken.record(bytes.count) }
        return taken
    }

    /// Takes in all that comes from now on, also where sending fails: NIO drops what it has not read
    /// by then, unless it is to read by itself.
    package func listen() {
        // It may be closed already, with all that has come read.
        channel.setOption(.autoRead, value: true).whenComplete { _ in }
    }

    /// Sends a request without a body and reads its answer.
    package func ask(
        _ method: String,
        _ path: String,
        _ headers: [String] = []
    ) async throws -> RawResponse {
        let fields = headers.map { "\($0)\r\n" }.joined()
        try await send("\(method) \(path) HTTP/1.1\r\nHost: larder\r\n\(fields)\r\n")
        return try await response(to: method)
    }

    /// Sends a request with a body and reads its answer.
    package func ask(
        _ method: String,
        _ path: String,
        _ headers: [String] = [],
        body: [UInt8]
    ) async throws -> RawResponse {
        let fields = (headers + ["Content-Length: \(body.count)"]).map { "\($0)\r\n" }.joined()
        let head = "\(method) \(path) HTTP/1.1\r\nHost: larder\r\n\(fields)\r\n"
        // It may be refused before all of it was taken.
        begin(Array(head.utf8) + body)
        return try await response(to: method)
    }

    // MARK: Reading

    /// The next answer, when it is whole.
    package func response(to method: String = "GET") async throws -> RawResponse {
        try await next { bytes, isAtEnd in
            try RawResponse.take(from: &bytes, method: method, isAtEnd: isAtEnd)
        }
    }

    /// What has come and was not taken as an answer, once it contains `text`.
    @discardableResult
    package func seen(_ text: String) async throws -> String {
        try await next { bytes, _ in
            let seen = String(decoding: bytes, as: UTF8.self)
            return seen.contains(text) ? seen : nil
        }
    }

    private func next<Value>(
        _ take: (inout [UInt8], _ isAtEnd: Bool) throws -> Value?
    ) async throws -> Value {
        while true {
            let (value, count, isClosed) = try inbox.take(take)
            if let value { return value }
            guard !isClosed else { throw RawClientError.closed(after: inbox.text) }
            try await more(than: count)
        }
    }

    /// What has come and was not taken, as soon as there is something; empty at the end.
    package func part() async throws -> [UInt8] {
        try await next { bytes, isAtEnd in
            guard !bytes.isEmpty || isAtEnd else { return nil }
            defer { bytes = [] }
            return bytes
        }
    }

    /// What comes until the server closes the connection.
    @discardableResult
    package func rest() async throws -> [UInt8] {
        try await next { bytes, isAtEnd in isAtEnd ? bytes : nil }
    }

    private func more(than count: Int) async throws {
        channel.read()
        try await withTaskCancellationHandler {
            await inbox.change(from: count)
            try Task.checkCancellation()
        } onCancel: {
            channel.close(promise: nil)
        }
    }

    // MARK: The end

    /// Says that nothing more is sent; what is answered can still be read.
    package func endSending() async throws {
        try await channel.close(mode: .output).get()
    }

    package func hangUp() async {
        // It may be closed already.
        try? await channel.close().get()
    }
}

/// What a ``RawClient`` has received; guarded by a lock.
private final class Inbox: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        var isClosed = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    var text: String { state.withLock { String(decoding: $0.bytes, as: UTF8.self) } }

    /// Lets `take` have from the front what it can use; tells how many bytes are left.
    func take<Value>(
        _ take: (inout [UInt8], Bool) throws -> Value?
    ) throws -> (Value?, count: Int, isClosed: Bool) {
        try state.withLock { state in
            let value = try take(&state.bytes, state.isClosed)
            return (value, state.bytes.count, state.isClosed)
        }
    }

    func received(_ bytes: ByteBuffer) {
        update { $0.bytes += bytes.readableBytesView }
    }

    func closed() {
        update { $0.isClosed = true }
    }

    /// Returns once there are not `count` bytes, or the connection is closed.
    func change(from count: Int) async {
        await withCheckedContinuation { waiter in
            let isChanged = state.withLock { state in
                if state.isClosed || state.bytes.count != count { return true }
                state.waiter = waiter
                return false
            }
            if isChanged { waiter.resume() }
        }
    }

    private func update(_ change: (inout State) -> Void) {
        let waiter = state.withLock { state in
            change(&state)
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }
}

private final class InboxHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let inbox: Inbox

    init(_ inbox: Inbox) {
        self.inbox = inbox
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        inbox.received(unwrapInboundIn(data))
    }

    func channelInactive(context: ChannelHandlerContext) {
        inbox.closed()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
