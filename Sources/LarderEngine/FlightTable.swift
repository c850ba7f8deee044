import LarderModel
import LarderStore
import LarderStrategy
import Synchronization

/// Single flight: which requests are under way, so that the same is asked once (fetch.md calls it
/// one request for any number of clients of a scope).
///
/// Guarded by a lock. A flight leaves the table before it tells that it has landed, so whoever
/// comes later sets out anew.
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

    /// Takes a flight out before it tells that it has landed.
    func remove(_ flight: Flight) {
        let (key, payer) = (flight.plan.key, flight.plan.payer)
        airborne.withLock { airborne in
            if airborne.boarding[key] === flight { airborne.boarding[key] = nil }
            airborne.shares.giveBack(payer)
        }
    }

    /// Whether one is under way for any of these rows' users.
    func isUsed(by scopes: RowScopes) -> Bool {
        airborne.withLock { $0.shares.keys.contains { scopes.covers($0.scope) } }
    }

    /// Those that may be joined, in no order.
    var boarding: [Flight] { airborne.withLock { Array($0.boarding.values) } }

    var count: Int { airborne.withLock { $0.shares.count } }
}

extension Flight.Plan {
    /// Whether the answer to another plan's request is one to this plan's.
    fileprivate func mayJoin(_ other: Flight.Plan) -> Bool {
        takesConfirmation || other.cached == nil || key.scope.scope != .shared
    }
}
