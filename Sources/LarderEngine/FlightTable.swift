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
        var perScope: [ScopeKey: Int] = [:]
        var count = 0

        func hasRoom(for scope: ScopeKey) -> Bool {
            count < Limits.flightsMax
                && perScope[scope, default: 0] < Limits.flightsPerScopeMax
        }

        mutating func count(_ scope: ScopeKey) {
            perScope[scope, default: 0] += 1
            count += 1
        }
    }

    private let airborne = Mutex(Airborne())

    /// The flight that takes passengers for a key at `now`, or `make`'s, which is then to be run;
    /// nil when too many are under way.
    ///
    /// A flight takes passengers for its origin's own time. Whoever comes later sets out anew, as
    /// what has not answered by then may never do so.
    func join(
        _ key: Flight.Key,
        _ payer: ScopeKey,
        now: Duration,
        make: () -> Flight
    ) -> (flight: Flight, isNew: Bool)? {
        airborne.withLock { airborne in
            if let flight = airborne.boarding[key], now < flight.boardingEnds {
                return (flight, false)
            }
            guard airborne.hasRoom(for: payer) else { return nil }
            let flight = make()
            airborne.boarding[key] = flight
            airborne.count(payer)
            return (flight, true)
        }
    }

    /// Takes a flight in that nobody else may board; false when too many are under way.
    func add(_ flight: Flight) -> Bool {
        airborne.withLock { airborne in
            guard airborne.hasRoom(for: flight.plan.payer) else { return false }
            airborne.count(flight.plan.payer)
            return true
        }
    }

    /// Takes a flight out before it tells that it has landed.
    func remove(_ flight: Flight) {
        let (key, payer) = (flight.plan.key, flight.plan.payer)
        airborne.withLock { airborne in
            if airborne.boarding[key] === flight { airborne.boarding[key] = nil }
            let left = airborne.perScope[payer, default: 1] - 1
            airborne.perScope[payer] = left == 0 ? nil : left
            airborne.count -= 1
        }
    }

    var count: Int { airborne.withLock { $0.count } }
}
