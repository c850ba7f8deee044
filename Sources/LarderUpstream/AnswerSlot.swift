import AsyncHTTPClient
import LarderModel
import NIOCore
import NIOHTTP1
import Synchronization

/// The one place between the event loop that receives an answer and the task that reads it.
///
///     empty ── itemArrived ──▶ full ── readerAsked ──▶ empty
///       └──── readerAsked ──▶ awaited ── itemArrived ──▶ empty
///     any ── requestEnded ──▶ ended
///
/// Invariants:
/// 1. At most one item is here: its credit, which asks for the next one, is paid when it is taken.
/// 2. The first item is the head, and there is one head.
/// 3. A waiting reader is answered exactly once, and every credit is paid exactly once.
struct AnswerSlot {
    enum Item: Equatable {
        case head(AnswerHead)
        case piece([UInt8])
    }

    /// The next item, nil at the end, or the failure.
    typealias Outcome = Result<Item?, AnswerFailure>
    typealias Reader = CheckedContinuation<Outcome, Never>
    typealias Credit = EventLoopPromise<Void>

    private enum State {
        case empty
        case full(Item, Credit)
        case awaited(Reader)
        case ended(AnswerFailure?)
    }

    private var state = State.empty
    private(set) var progress = AnswerProgress.connecting

    mutating func requestLeft() {
        if progress == .connecting { progress = .awaitingHead }
    }

    enum ArrivalAction {
        case keep
        case hand(to: Reader)
        case drop
    }

    mutating func itemArrived(_ item: Item, credit: Credit) -> ArrivalAction {
        progress = .readingBody
        switch state {
        case .empty:
            state = .full(item, credit)
            return .keep
        case .awaited(let reader):
            state = .empty
            return .hand(to: reader)
        case .ended:
            return .drop
        case .full:
            preconditionFailure("a second item arrived before the first one's credit was paid")
        }
    }

    enum EndAction {
        case none
        case pay(Credit)
        case answer(Reader, Outcome)
    }

    /// The request has ended, with its last byte or with an error.
    mutating func requestEnded(_ error: (any Error)?) -> EndAction {
        let failure = error.map { AnswerFailure(error: $0, progress: progress) }
        switch state {
        case .empty:
            state = .ended(failure)
            return .none
        case .full(_, let credit):
            state = .ended(failure)
            return .pay(credit)
        case .awaited(let reader):
            state = .ended(failure)
            return .answer(reader, failure.map { .failure($0) } ?? .success(nil))
        case .ended:
            return .none
        }
    }

    enum TakeAction {
        case wait
        case pay(Credit, Item)
        case answer(Outcome)
    }

    /// Takes an item without waiting, if there is one.
    mutating func readerLooked() -> TakeAction {
        switch state {
        case .empty:
            return .wait
        case .full(let item, let credit):
            state = .empty
            return .pay(credit, item)
        case .ended(let failure):
            return .answer(failure.map { .failure($0) } ?? .success(nil))
        case .awaited:
            preconditionFailure("an answer has one reader")
        }
    }

    /// As ``readerLooked()``, but remembers the reader if it has to wait.
    mutating func readerAsked(_ reader: Reader) -> TakeAction {
        let action = readerLooked()
        if case .wait = action { state = .awaited(reader) }
        return action
    }
}

struct AnswerHead: Equatable {
    let status: Int
    let headers: HeaderFields
    /// See ``UpstreamReply/endsWithConnection``.
    var endsWithConnection = false
}

enum AnswerProgress: Equatable {
    /// No request byte has left.
    case connecting
    case awaitingHead
    case readingBody
}

struct AnswerFailure: Error {
    let error: any Error
    let progress: AnswerProgress
}

/// Puts what async-http-client receives into an ``AnswerSlot``, on the request's event loop.
///
/// The slot is in the mutex; readers are resumed and credits paid outside of it.
final class AnswerDelegate: HTTPClientResponseDelegate {
    typealias Response = Void

    private let slot = Mutex(AnswerSlot())
    private let onSent: @Sendable () -> Void

    init(onSent: @escaping @Sendable () -> Void) { self.onSent = onSent }

    func didSendRequestHead(task: HTTPClient.Task<Void>, _ head: HTTPRequestHead) {
        slot.withLock { $0.requestLeft() }
        onSent()
    }

    func didReceiveHead(
        task: HTTPClient.Task<Void>,
        _ head: HTTPResponseHead
    ) -> EventLoopFuture<Void> {
        let headers = HeaderFields(
            head.headers.map { .init(name: $0.name, value: $0.value.withoutBlanks) }
        )
        guard headers.byteCount <= Limits.responseHeadBytesMax,
            headers.fields.count <= Limits.headerFieldsMax
        else {
            return task.eventLoop.makeFailedFuture(UpstreamError.headTooLarge)
        }
        // No request has an Upgrade; on the raw routes the client would take the connection for one
        // of another protocol.
        guard head.status.code != 101 else {
            let reason = "the status 101 to a request without Upgrade"
            return task.eventLoop.makeFailedFuture(UpstreamError.brokenOff(reason: reason))
        }
        var answer = AnswerHead(status: Int(head.status.code), headers: headers)
        answer.endsWithConnection =
            head.version.major < 2 && headers["Content-Length"] == nil
            && headers.listed("Transfer-Encoding").last != "chunked"
        return deliver(.head(answer), on: task.eventLoop)
    }

    func didReceiveBodyPart(
        task: HTTPClient.Task<Void>,
        _ buffer: ByteBuffer
    ) -> EventLoopFuture<Void> {
        guard buffer.readableBytes > 0 else { return task.eventLoop.makeSucceededVoidFuture() }
        return deliver(.piece(Array(buffer.readableBytesView)), on: task.eventLoop)
    }

    func didFinishRequest(task: HTTPClient.Task<Void>) {}

    /// The delegate's creator calls this once.
    ///
    /// A request that never starts does not reach the delegate's other methods.
    func requestEnded(_ error: (any Error)?) {
        switch slot.withLock({ $0.requestEnded(error) }) {
        case .none: break
        case .pay(let credit): credit.succeed()
        case .answer(let reader, let outcome): reader.resume(returning: outcome)
        }
    }

    /// The next item if it has arrived; nil if the reader has to wait.
    func look() -> AnswerSlot.Outcome? {
        settle(slot.withLock { $0.readerLooked() })
    }

    /// Waits for the next item, without a time limit.
    func next() async -> AnswerSlot.Outcome {
        await withCheckedContinuation { reader in
            if let outcome = settle(slot.withLock({ $0.readerAsked(reader) })) {
                reader.resume(returning: outcome)
            }
        }
    }

    private func settle(_ action: AnswerSlot.TakeAction) -> AnswerSlot.Outcome? {
        switch action {
        case .wait: return nil
        case .answer(let outcome): return outcome
        case .pay(let credit, let item):
            credit.succeed()
            return .success(item)
        }
    }

    private func deliver(
        _ item: AnswerSlot.Item,
        on eventLoop: any EventLoop
    ) -> EventLoopFuture<Void> {
        let credit = eventLoop.makePromise(of: Void.self)
        switch slot.withLock({ $0.itemArrived(item, credit: credit) }) {
        case .keep: break
        case .hand(let reader):
            reader.resume(returning: .success(item))
            credit.succeed()
        case .drop: credit.succeed()
        }
        return credit.futureResult
    }
}
