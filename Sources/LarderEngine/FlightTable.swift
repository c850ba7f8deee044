import LarderModel
import LarderStore
import LarderStrategy
import LarderWire
import Synchronization

/// Single flight: which requests are in flight, so that the same is asked once; guarded by a lock.
///
/// A flight leaves the table before it tells that it has landed, so later requests are new flights.
final class FlightTable: Sendable {
    private struct Airborne {
        /// Those that may still be joined.
        var boarding: [Flight.Key: Flight] = [:]
        /// All that have not landed, by who has sent them off.
        var shares = Shares<ScopeKey>(max: Limits.flightsMax, each: Limits.flightsPerScopeMax)
    }

    private let airborne = Mutex(Airborne())

    /// The flight that takes passengers for a plan's key at `now`, or `make`'s, which is then to be
    /// run; nil when too many are under way.
    ///
    /// A flight takes passengers for its origin's own time. Whoever comes later sets out anew, as
    /// what has not answered by then may never do so. What is handed over nobody else may board, nor
    /// what asks for the confirmation of a row that the client does not see.
    func join(
        _ plan: Flight.Plan,
        now: Duration,
        make: () -> Flight
    ) -> (flight: Flight, isNew: Bool)? {
        let isShared = plan.handover == nil
        return airborne.withLock { airborne in
            if isShared, let flight = airborne.boarding[plan.key], now < flight.boardingEnds,
                plan.mayJoin(flight.plan)
            {
                return (flight, false)
            }
            guard airborne.shares.take(plan.payer) else { return nil }
            let flight = make()
            if isShared { airborne.boarding[plan.key] = flight }
            return (flight, true)
        }
    }

    func remove(_ flight: Flight) {
        let (key, payer) = (flight.plan.key, flight.plan.payer)
        airborne.withLock { airborne in
            if airborne.boarding[key] === flight { airborne.boarding[key] = nil }
            airborne.shares.giveBack(payer)
        }
    }

    func isUsed(by scopes: RowScopes) -> Bool {
        airborne.withLock { $0.shares.keys.contains { scopes.covers($0.scope) } }
    }

    var boarding: [Flight] { airborne.withLock { Array($0.boarding.values) } }

    var count: Int { airborne.withLock { $0.shares.count } }
}

extension Flight.Plan {
    fileprivate func mayJoin(_ other: Flight.Plan) -> Bool {
        takesConfirmation || other.cached == nil || key.scope.scope != .shared
    }
}

struct FlightBoard: Sendable {
    let context: EngineContext

    /// Has the network say what there is now, for nobody, once the origin is not to be left alone.
    ///
    /// Where too many wait for that already it is not asked: whoever reads it next asks.
    func boardForNobody(_ request: FetchRequest, _ scope: ScopeKey) {
        let origin = request.origin.name
        guard let restEnd = context.originStates.restEnd(of: origin, for: scope.scope) else {
            return board(request, scope, cached: nil, isForNobody: true) { _ in }
        }
        let count = context.waitingReads.add(1, ordering: .relaxed).newValue
        let isTaken =
            count <= Limits.flightsMax
            && context.work.add {
                let isOver = (try? await context.clock.sleep(until: restEnd)) != nil
                context.waitingReads.subtract(1, ordering: .relaxed)
                if isOver { boardForNobody(request, scope) }
            }
        if !isTaken { context.waitingReads.subtract(1, ordering: .relaxed) }
    }

    /// Has `tell` called with what the network says about a request.
    ///
    /// `cached` is what its client sees, and what a new flight revalidates. A flight has the origin's
    /// own time even when its first client waits for less: the answer then lands in the cache without
    /// it. With `isAlone` no flight of the shared scope is boarded. With `handover` it sets out with a
    /// request of its own, whose answer goes through that as it comes and is not kept; it is over when
    /// nobody reads there any more.
    func board(
        _ request: FetchRequest,
        _ scope: ScopeKey,
        cached: ShownAnswer?,
        isAlone: Bool = false,
        isForNobody: Bool = false,
        handover: BodyHandover? = nil,
        _ tell: @escaping @Sendable (FlightOutcome) -> Void
    ) {
        let origin = request.origin
        // Nothing leaves for it.
        guard !context.originStates.isOfflineByHand(origin.name) else {
            return tell(.failed(Problem(offline: origin.name)))
        }
        let plan = Flight.Plan(
            key: Flight.Key(
                scope: isAlone ? scope : context.place(of: request, scope, cached),
                url: request.url,
                headers: request.headers,
                normalizes: request.normalizes
            ),
            payer: scope,
            origin: origin,
            cached: cached?.known,
            takesConfirmation: cached != nil || isForNobody,
            isOriginDown: context.originStates.isDown(origin.name),
            rules: request.normalizes ? context.origins.entityRules[origin.name] : nil,
            isNormalized: cached?.isNormalized ?? false,
            client: request.client,
            handover: handover
        )
        let now = context.clock.monotonic()
        let boardingEnds = now + origin.fetch.timeout
        let deadline = max(now + request.timeout, boardingEnds)
        let boarded = context.flights.join(plan, now: now) {
            Flight(plan, context: context, deadline: deadline, boardingEnds: boardingEnds)
        }
        guard let (flight, isNew) = boarded else {
            return tell(.failed(Problem(FlightFailure.overloaded, url: request.url)))
        }
        flight.join(until: deadline) { outcome in
            guard flight.isPrivate, flight.plan.payer != scope else {
                return tell(isNew ? outcome : outcome.forOthers)
            }
            // It is somebody else's.
            board(request, scope, cached: nil, isAlone: true, tell)
        }
        if isNew { send(flight, tell) } else { context.meter.count { $0.flightsJoined += 1 } }
    }

    private func send(_ flight: Flight, _ tell: @Sendable (FlightOutcome) -> Void) {
        let table = context.flights
        let started = context.clock.monotonic()
        let isTaken = context.work.add { [context] in
            await flight.run { table.remove(flight) }
            context.meter.count { $0.network.record(context.clock.monotonic() - started) }
        }
        if isTaken {
            context.meter.count { $0.flightsStarted += 1 }
        } else {
            table.remove(flight)
            let problem = Problem(FlightFailure.shuttingDown, url: flight.plan.key.url)
            tell(.failed(problem))
        }
    }
}
