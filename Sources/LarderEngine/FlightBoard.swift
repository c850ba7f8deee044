import LarderModel
import LarderStore
import LarderStrategy
import LarderWire

/// Where a fetch boards a flight: the one under way, or a new one that it sends off.
struct FlightBoard: Sendable {
    let context: EngineContext
    let table: FlightTable
    let work: WorkQueue

    /// Has `tell` called with what the network says about a request.
    ///
    /// `cached` is what a new flight revalidates. A flight has the origin's own time even when its
    /// first client waits for less: the answer then lands in the cache without it.
    func board(
        _ request: FetchRequest,
        _ scope: ScopeKey,
        cached: Entry?,
        _ tell: @escaping @Sendable (Landing) -> Void
    ) {
        let time = max(request.timeout, request.origin.fetch.timeout)
        let deadline = context.clock.monotonic() + time
        let key = Flight.Key(scope: scope, url: request.url, headers: request.headers)
        let plan = Flight.Plan(
            key: key,
            origin: request.origin,
            cached: cached,
            isOriginDown: context.health[request.origin.name]?.isDown ?? false
        )
        let now = context.clock.monotonic()
        let boarded = table.join(key, now: now) {
            Flight(
                plan,
                context: context,
                deadline: deadline,
                boardingEnds: now + request.origin.fetch.timeout
            )
        }
        guard let (flight, isNew) = boarded else {
            return tell(.failed(Problem(FlightFailure.overloaded, url: request.url)))
        }
        flight.join(until: deadline, tell)
        guard isNew else { return }
        let table = table
        let isTaken = work.add { await flight.run { table.remove(flight) } }
        if !isTaken {
            table.remove(flight)
            tell(.failed(Problem(FlightFailure.shuttingDown, url: request.url)))
        }
    }
}
