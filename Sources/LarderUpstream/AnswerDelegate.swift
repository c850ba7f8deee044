import AsyncHTTPClient
import LarderModel
import NIOCore
import NIOHTTP1
import Synchronization

/// Puts what async-http-client receives into an ``AnswerSlot``, on the request's event loop.
///
/// The slot is in the mutex; readers are resumed and credits paid outside of it.
final class AnswerDelegate: HTTPClientResponseDelegate {
    typealias Response = Void

    private let slot = Mutex(AnswerSlot())
    private let onSent: @Sendable () -> Void

    init(onSent: @escaping @Sendable () -> Void) {
        self.onSent = onSent
    }

    func didSendRequestHead(task: HTTPClient.Task<Void>, _ head: HTTPRequestHead) {
        slot.withLock { $0.requestLeft() }
        onSent()
    }

    func didReceiveHead(
        task: HTTPClient.Task<Void>,
        _ head: HTTPResponseHead
    ) -> EventLoopFuture<Void> {
        let headers = HeaderFields(head.headers.map { .init(name: $0.name, value: $0.value) })
        guard headers.byteCount <= Limits.responseHeadBytesMax,
            headers.fields.count <= Limits.headerFieldsMax
        else {
            return task.eventLoop.makeFailedFuture(UpstreamError.headTooLarge)
        }
        var answer = AnswerHead(status: Int(head.status.code), headers: headers)
        answer.endsWithConnection =
            head.version.major < 2 && headers["Content-Length"] == nil
            && headers["Transfer-Encoding"] == nil
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
