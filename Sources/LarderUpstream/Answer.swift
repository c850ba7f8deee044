import AsyncHTTPClient
package import LarderModel
import NIOCore

/// The reading side of one request, which ends the request when it is released.
final class Answer: Sendable {
    private let task: HTTPClient.Task<Void>
    private let delegate: AnswerDelegate

    /// Sends the request; its deadline covers everything up to the end of the body.
    ///
    /// `loop` is the event loop of the delegate.
    init(
        to request: HTTPClient.Request,
        from client: HTTPClient,
        _ loop: any EventLoop,
        _ deadline: NIODeadline,
        onSent: @escaping @Sendable () -> Void = {}
    ) {
        let delegate = AnswerDelegate(onSent: onSent)
        self.delegate = delegate
        task = client.execute(
            request: request,
            delegate: delegate,
            eventLoop: .delegate(on: loop),
            deadline: deadline
        )
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

/// An origin's answer: its head, and a body that is not yet read.
package struct UpstreamReply {
    package var status: Int
    package var headers: HeaderFields
    package var body: UpstreamBody
    /// Whether the body ends with the connection (RFC 9112 6.3, rule 8).
    ///
    /// Then a body that was cut off looks whole.
    package var endsWithConnection: Bool
    /// Whether the upstream sent the request twice; the origin may have received the first.
    package var isToRepeat = false

    package init(
        status: Int,
        headers: HeaderFields,
        body: UpstreamBody,
        endsWithConnection: Bool = false
    ) {
        self.endsWithConnection = endsWithConnection
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// The bytes of an answer, piece by piece, once and for one reader.
///
/// The upstream reads the origin no faster than the reader asks for pieces.
package struct UpstreamBody {
    private let readNext: () async throws(UpstreamError) -> [UInt8]?

    /// Makes a body of the pieces that `next` returns; nil ends the body.
    ///
    /// After nil or an error, `next` is not called again.
    package init(_ next: @escaping () async throws(UpstreamError) -> [UInt8]?) { readNext = next }

    /// The next piece, never empty, or nil at the end.
    package func next() async throws(UpstreamError) -> [UInt8]? { try await readNext() }

    /// Reads up to so many bytes, and says whether that is the whole body.
    package func read(upTo limit: Int) async -> (bytes: [UInt8], isWhole: Bool) {
        var bytes: [UInt8] = []
        do throws(UpstreamError) {
            while let piece = try await next() {
                guard bytes.count + piece.count <= limit else {
                    return (bytes + piece.prefix(limit - bytes.count), false)
                }
                bytes += piece
            }
            return (bytes, true)
        } catch {
            return (bytes, false)
        }
    }

    func decoded(_ coding: ContentCoding) -> UpstreamBody {
        let decoder = BodyDecoder(coding)
        return UpstreamBody { () async throws(UpstreamError) -> [UInt8]? in
            while true {
                if let decoded = try decoder.next() { return decoded }
                guard let piece = try await self.next() else { break }
                decoder.take(piece)
            }
            try decoder.finish()
            return nil
        }
    }
}
