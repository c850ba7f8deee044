import LarderModel

/// What waits beside a session: each posts an event into its mailbox.
struct SessionTimers<Event: Sendable>: Sendable {
    let clock: any EngineClock
    let mailbox: Mailbox<Event>
    /// Runs them, until it is finished.
    let jobs = WorkQueue()

    /// Posts an event once, when a time is over that runs from here on.
    func set(_ time: Duration, _ event: Event) {
        guard time > .zero else { return mailbox.post(event) }
        set(until: clock.monotonic() + time, event)
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
