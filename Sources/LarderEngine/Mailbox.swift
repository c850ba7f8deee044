import LarderModel

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

    /// False once its task has ended.
    @discardableResult
    func post(_ event: Event) -> Bool {
        if case .terminated = continuation.yield(event) { return false }
        return true
    }
}

/// What waits beside a session: each posts an event into its mailbox.
struct SessionTimers<Event: Sendable>: Sendable {
    let clock: any EngineClock
    let mailbox: Mailbox<Event>
    let jobs = WorkQueue()

    /// Posts an event once, when a time is over that runs from here on.
    func set(_ time: Duration, _ event: Event) {
        if time > .zero {
            set(until: clock.monotonic() + time, event)
        } else {
            mailbox.post(event)
        }
    }

    /// Posts an event once, at a moment of the monotonic clock.
    func set(until due: Duration, _ event: Event) {
        _ = jobs.add { [clock, mailbox] in
            if (try? await clock.sleep(until: due)) != nil { mailbox.post(event) }
        }
    }

    /// Posts an event each time that a pause is over.
    func beat(every pause: Duration, _ event: Event) {
        _ = jobs.add { [clock, mailbox] in
            while (try? await clock.sleep(for: pause)) != nil { mailbox.post(event) }
        }
    }
}

/// One alarm for one task: set as often as one likes, and only the last setting sleeps.
struct Alarm: Sendable {
    private let settings: AsyncStream<Duration?>
    private let setting: AsyncStream<Duration?>.Continuation

    init() {
        // What was set before the last does not count.
        (settings, setting) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Has it ring at a moment of the monotonic clock, and at no other; nil: not at all.
    func set(_ due: Duration?) {
        setting.yield(due)
    }

    func run(_ clock: any EngineClock, ring: @escaping @Sendable () -> Void) async {
        var settings = settings.makeAsyncIterator()
        var due: Duration?
        while true {
            let next = await withDiscardingTaskGroup(returning: Duration??.self) { group in
                if let due {
                    group.addTask {
                        if (try? await clock.sleep(until: due)) != nil { ring() }
                    }
                }
                defer { group.cancelAll() }
                return await settings.next(isolation: #isolation)
            }
            guard let next else { return }
            due = next
        }
    }
}
