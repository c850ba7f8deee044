/// Events from anywhere for one task, in the order in which they came.
///
/// Its senders send a handful each, so it needs no bound of its own.
struct Mailbox<Event: Sendable>: Sendable {
    let events: AsyncStream<Event>
    private let continuation: AsyncStream<Event>.Continuation

    init() {
        (events, continuation) = AsyncStream.makeStream()
    }

    func post(_ event: Event) {
        continuation.yield(event)
    }
}
