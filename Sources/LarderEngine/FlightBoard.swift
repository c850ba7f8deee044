import LarderModel
import LarderStore
import LarderStrategy
import LarderWire
import Synchronization

/// Where a fetch boards a flight: the one under way, or a new one that it sends off.
struct FlightBoard: Sendable {
    let context: EngineContext
    private var table: FlightTable { context.flights }

    /// Has the network say what there is now, for nobody, once the origin is not to be left alone.
    ///
    /// Where too many wait for that already it is not asked: whoever reads it next asks.
    func boardForNobody(_ request: FetchRequest, _ scope: ScopeKey) {
        guard let rest = context.originStates.rest(of: request.origin.name, for: scope.scope) else {
            return board(request, scope, cached: nil) { _ in }
        }
        let count = context.waitingReads.add(1, ordering: .relaxed).newValue
        let isTaken =
            count <= Limits.flightsMax
            && context.work.add {
                let isOver = (try? await context.clock.sleep(for: rest)) != nil
                context.waitingReads.subtract(1, ordering: .relaxed)
                if isOver { boardForNobody(request, scope) }
            }
        if !isTaken { context.waitingReads.subtract(1, ordering: .relaxed) }
    }

    /// Has `tell` called with what the network says about a request.
    ///
    /// `cached` is what its client sees, and what a new flight revalidates. A flight has the origin's
    /// own time even when its first client waits for less: the answer then lands in the cache without
    /// it. With `isAlone` no flight of the shared scope is boarded.
    func board(
        _ request: FetchRequest,
        _ scope: ScopeKey,
        cached: ShownAnswer?,
        isAlone: Bool = false,
        _ tell: @escaping @Sendable (FlightOutcome) -> Void
    ) {
        guard let plan = plan(request, scope, cached: cached, isAlone: isAlone) else {
            return tell(.failed(Problem(offline: request.origin.name)))
        }
        let now = context.clock.monotonic()
        let boarded = table.join(plan.key, plan.payer, now: now) { flight(plan, request, now) }
        guard let (flight, isNew) = boarded else { return tell(overloaded(request)) }
        flight.join(until: deadline(request, now)) { outcome in
            guard flight.isPrivate, flight.plan.payer != scope else {
                return tell(isNew ? outcome : outcome.forOthers)
            }
            // It is somebody else's.
            board(request, scope, cached: nil, isAlone: true, tell)
        }
        if isNew { send(flight, tell) } else { context.meter.flightJoined() }
    }

    /// Sets out with a request of its own, whose answer goes through `handover` as it comes and is
    /// not kept.
    ///
    /// It is over when nobody reads there any more.
    func passOn(
        _ request: FetchRequest,
        _ scope: ScopeKey,
        to handover: BodyHandover,
        _ tell: @escaping @Sendable (FlightOutcome) -> Void
    ) {
        guard var plan = plan(request, scope, cached: nil) else {
            return tell(.failed(Problem(offline: request.origin.name)))
        }
        plan.handover = handover
        let now = context.clock.monotonic()
        let flight = flight(plan, request, now)
        guard table.add(flight) else { return tell(overloaded(request)) }
        flight.join(until: deadline(request, now), tell)
        send(flight, tell)
    }

    /// Nil for an origin that was set offline by hand: nothing leaves for it.
    private func plan(
        _ request: FetchRequest,
        _ scope: ScopeKey,
        cached: ShownAnswer?,
        isAlone: Bool = false
    ) -> Flight.Plan? {
        guard !context.originStates.isOfflineByHand(request.origin.name) else { return nil }
        let place = isAlone ? scope : context.place(of: request, scope, cached)
        return Flight.Plan(
            key: Flight.Key(
                scope: place,
                url: request.url,
                headers: request.headers,
                normalizes: request.normalizes
            ),
            payer: scope,
            origin: request.origin,
            cached: cached?.known,
            isOriginDown: context.originStates.isDown(request.origin.name),
            rules: request.normalizes ? context.origins.entityRules[request.origin.name] : nil,
            isNormalized: cached?.isNormalized ?? false,
            client: request.client
        )
    }

    private func deadline(_ request: FetchRequest, _ now: Duration) -> Duration {
        now + max(request.timeout, request.origin.fetch.timeout)
    }

    private func flight(
        _ plan: Flight.Plan,
        _ request: FetchRequest,
        _ now: Duration
    ) -> Flight {
        Flight(
            plan,
            context: context,
            deadline: deadline(request, now),
            boardingEnds: now + request.origin.fetch.timeout
        )
    }

    private func send(_ flight: Flight, _ tell: @Sendable (FlightOutcome) -> Void) {
        let table = table
        let started = context.clock.monotonic()
        let isTaken = context.work.add { [context] in
            await flight.run { table.remove(flight) }
            context.meter.flightLanded(after: context.clock.monotonic() - started)
        }
        if isTaken {
            context.meter.flightStarted()
        } else {
            table.remove(flight)
            let problem = Problem(FlightFailure.shuttingDown, url: flight.plan.key.url)
            tell(.failed(problem))
        }
    }

    private func overloaded(_ request: FetchRequest) -> FlightOutcome {
        .failed(Problem(FlightFailure.overloaded, url: request.url))
    }
}
