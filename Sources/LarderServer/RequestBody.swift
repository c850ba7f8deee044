import DequeModule
import LarderAPI
import LarderEngine
import LarderModel
import NIOCore
import NIOHTTP1

/// The body of a request as it comes, read no faster than it is taken.
///
/// Used on its connection's event loop only.
// Confined to the event loop, which every entry point checks.
final class RequestBody: @unchecked Sendable {
    enum Failure: Error {
        case hungUp
    }

    private let eventLoop: any EventLoop
    private var pieces = Deque<ByteBuffer>()
    private var bufferedBytes = 0
    private(set) var isWhole = false
    private var isBroken = false
    private var taker: CheckedContinuation<ByteBuffer?, any Error>?
    /// Told when there is room for more.
    var hasRoom: () -> Void = {}
    /// Told once, before the first piece is waited for.
    var isWanted: () -> Void = {}
    /// The memory of a body that was collected, and of what is made of it, until the exchange ends.
    var memory: UserShare?

    init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    /// Whether the connection should go on reading.
    var wantsMore: Bool {
        bufferedBytes < Limits.inlineBodyBytesMax * 2
    }

    /// Whether a reader waits for a piece: then the client is the slow side.
    var isAwaited: Bool { taker != nil }

    // MARK: From the connection

    func arrived(_ piece: ByteBuffer) {
        eventLoop.preconditionInEventLoop()
        guard piece.readableBytes > 0 else { return }
        if let taker {
            self.taker = nil
            taker.resume(returning: piece)
        } else {
            pieces.append(piece)
            bufferedBytes += piece.heldBytes
        }
    }

    func ended() {
        eventLoop.preconditionInEventLoop()
        isWhole = true
        taker?.resume(returning: nil)
        taker = nil
    }

    func hungUp() {
        eventLoop.preconditionInEventLoop()
        guard !isWhole else { return }
        isBroken = true
        taker?.resume(throwing: Failure.hungUp)
        taker = nil
    }

    // MARK: From the route

    /// The next piece; nil at the end.
    func next() async throws -> ByteBuffer? {
        eventLoop.preconditionInEventLoop()
        if let piece = pieces.popFirst() {
            bufferedBytes -= piece.heldBytes
            if !isWhole { hasRoom() }
            return piece
        }
        if isWhole { return nil }
        if isBroken { throw Failure.hungUp }
        isWanted()
        isWanted = {}
        return try await withCheckedThrowingContinuation { taker = $0 }
    }
}

/// Input from a client, in order of arrival.
enum ConnectionInput {
    case part(HTTPServerRequestPart)
    /// Input that is not a request.
    case unreadable(Problem)
    /// Nothing more.
    case end
}

/// State that a connection keeps for the present exchange.
enum ConnectionExchange {
    /// Answered on the loop once the request is whole.
    case inline(HTTPRequestHead, EntryID)
    case job(RequestBody, ClientCancellation)
}

extension ByteBuffer {
    /// Memory that the buffer keeps: a small piece keeps all bytes that were read with it.
    var heldBytes: Int { storageCapacity }
}
