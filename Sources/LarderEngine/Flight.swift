import LarderModel
import LarderStore
import LarderStrategy
import LarderUpstream
import LarderWire
import Synchronization

/// One request under way to an origin, shared by every client of a scope that wants the same.
///
/// Clients join and leave; the flight goes on without them and lands in the cache. What it decides
/// is ``FlightMachine``'s; this is its shell, run by one task.
final class Flight: Sendable {
    /// What makes two requests the same.
    struct Key: Hashable, Sendable {
        let scope: ScopeKey
        let url: WebURL
        let headers: HeaderFields
    }

    /// What a flight sets out with.
    struct Plan: Sendable {
        let key: Key
        let origin: OriginSettings
        /// The entry that is revalidated, if one is cached.
        let cached: Entry?
        let isOriginDown: Bool
    }

    let plan: Plan
    /// Until when it takes passengers, on the monotonic clock.
    let boardingEnds: Duration
    private let context: EngineContext
    private let passengers: Mutex<Passengers>

    private struct Passengers {
        var deadline: Duration
        var waiting: [@Sendable (Landing) -> Void] = []
        var landing: Landing?
    }

    init(
        _ plan: Plan,
        context: EngineContext,
        deadline: Duration,
        boardingEnds: Duration
    ) {
        self.boardingEnds = boardingEnds
        self.plan = plan
        self.context = context
        passengers = Mutex(Passengers(deadline: deadline))
    }

    /// Has `tell` called once with what the flight comes to, and keeps it in the air until
    /// `deadline` at least.
    ///
    /// It may be called at once, on any thread.
    func join(until deadline: Duration, _ tell: @escaping @Sendable (Landing) -> Void) {
        let landing = passengers.withLock { passengers in
            passengers.deadline = max(passengers.deadline, deadline)
            if passengers.landing == nil { passengers.waiting.append(tell) }
            return passengers.landing
        }
        if let landing { tell(landing) }
    }

    /// Flies until it lands, and tells everybody.
    ///
    /// `isLanding` is called right before that: from
    /// then on nobody may join.
    func run(isLanding: () -> Void) async {
        let store = context.store
        let cachedID = plan.cached?.id
        if let cachedID { store.protect(plan.key.scope, cachedID) }
        let landing = await withTaskGroup(of: Landing?.self) { group in
            group.addTask { await FlightRun(self.plan, self.context, self.remaining).fly() }
            group.addTask { await self.watchDeadline() }
            var landing: Landing?
            for await result in group {
                // The deadline only hurries the flight; what it came to is its own to say.
                if let result { landing = result }
                group.cancelAll()
            }
            return landing ?? .failed(Problem(FlightFailure.timeout, url: plan.key.url))
        }
        if let cachedID { store.release(plan.key.scope, cachedID) }
        isLanding()
        let waiting = passengers.withLock { passengers in
            passengers.landing = landing
            defer { passengers.waiting = [] }
            return passengers.waiting
        }
        for tell in waiting { tell(landing) }
    }

    /// The time until the last passenger's deadline.
    @Sendable private func remaining() -> Duration {
        max(.zero, passengers.withLock { $0.deadline } - context.clock.monotonic())
    }

    /// Returns when the deadline has passed; it may be moved while this waits.
    private func watchDeadline() async -> Landing? {
        while true {
            let time = remaining()
            if time == .zero { return nil }
            do {
                try await context.clock.sleep(for: time)
            } catch {
                return nil
            }
        }
    }
}
