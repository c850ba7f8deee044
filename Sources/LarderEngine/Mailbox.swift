/// Events from anywhere for one task, in the order in which they came.
///
/// It has no bound of its own, as what is sent has one: an end, an answer or a landing comes once,
/// that an id or an origin has changed once until it is looked at, and heartbeats once a second at
/// most while a client does not read, which is ended after ``Limits/stalledResponseTime``. The keepers
/// wait for no client, and take as fast as requests and answers come.
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
