import AsyncHTTPClient
import NIOCore

/// The reading side of one request, which ends the request when it is released.
final class Answer: Sendable {
    private let task: HTTPClient.Task<Void>
    private let delegate: AnswerDelegate

    /// Sends the request; its deadline covers everything up to the end of the body.
    init(
        to request: HTTPClient.Request,
        from client: HTTPClient,
        deadline: NIODeadline,
        onSent: @escaping @Sendable () -> Void = {}
    ) {
        let delegate = AnswerDelegate(onSent: onSent)
        self.delegate = delegate
        task = client.execute(request: request, delegate: delegate, deadline: deadline)
        task.futureResult.whenComplete { result in
            switch result {
            case .success: delegate.requestEnded(nil)
            case .failure(let error): delegate.requestEnded(error)
            }
        }
    }

    deinit {
        task.cancel()
    }

    /// Cancelling the calling task ends the request.
    func head() async throws(AnswerFailure) -> AnswerHead {
        switch try await next(within: nil).get() {
        case .head(let head): return head
        case .piece, nil: preconditionFailure("an answer's first item is its head")
        }
    }

    /// The body's next piece, or nil at its end.
    ///
    /// If there is a bound, the request fails when no byte arrives for `silence` during this call.
    /// The reader's own time does not count.
    func piece(within silence: TimeAmount?) async throws(AnswerFailure) -> [UInt8]? {
        switch try await next(within: silence).get() {
        case .piece(let bytes): return bytes
        case nil: return nil
        case .head: preconditionFailure("an answer has one head")
        }
    }

    private func next(within silence: TimeAmount?) async -> AnswerSlot.Outcome {
        if let outcome = delegate.look() { return outcome }
        let timer = silence.map { silence in
            task.eventLoop.scheduleTask(in: silence) { [task] in
                task.fail(reason: HTTPClientError.readTimeout)
            }
        }
        defer { timer?.cancel() }
        return await withTaskCancellationHandler {
            await delegate.next()
        } onCancel: {
            task.cancel()
        }
    }
}
