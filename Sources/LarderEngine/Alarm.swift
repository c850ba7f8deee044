import LarderModel

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

    /// Rings until it is cancelled.
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
