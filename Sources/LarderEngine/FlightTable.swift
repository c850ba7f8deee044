import LarderModel
import LarderStore
import Synchronization

/// Single flight: which requests are in flight, so that the same is asked once; guarded by a lock.
///
/// A flight leaves the table before it reports its end, so later requests are new flights.
final class FlightTable: Sendable {
    private struct InFlight {
        /// Flights that clients may still join.
        var joinable: [Flight.Key: Flight] = [:]
        /// All flights in flight, by the user of the client that started them.
        var quota = Quota<UInt32?>(max: Limits.flightsMax, each: Limits.flightsPerUserMax)
        /// The same by the scope of the client.
        var scopes = Quota<ScopeKey>()

        mutating func take(_ payer: ScopeKey) -> Bool {
            quota.take(payer.scope.uid) && scopes.take(payer)
        }

        mutating func release(_ payer: ScopeKey) {
            quota.release(payer.scope.uid)
            scopes.release(payer)
        }
        /// Flights that use the connections that a user has to an origin for reads.
        var reads = Quota<Reader>()
    }

    private struct Reader: Hashable {
        let uid: UInt32?
        let origin: OriginName

        init(_ uid: UInt32?, _ origin: OriginName) { (self.uid, self.origin) = (uid, origin) }

        init(of plan: Flight.Plan) { self.init(plan.payer.scope.uid, plan.origin.name) }
    }

    private let inFlight = Mutex(InFlight())

    /// Returns the flight to join for a plan's key at `now`, or the new one of `make`, which the
    /// caller runs.
    ///
    /// Returns nil if too many flights are in flight.
    ///
    /// Clients may join until the origin has been silent for its own timeout. Later ones start a new
    /// flight, because an old one may never answer.
    ///
    /// With `startsNew` it is a new one in any case, which later clients join.
    ///
    /// No other client may join a flight that hands its body over. A client that does not see the
    /// row may not join a flight that asks to confirm it.
    func join(
        _ plan: Flight.Plan,
        startsNew: Bool = false,
        now: Duration,
        make: () -> Flight
    ) -> (flight: Flight, isNew: Bool)? {
        let isShared = plan.pipe == nil
        return inFlight.withLock { inFlight in
            if isShared, !startsNew, let flight = inFlight.joinable[plan.key],
                now < flight.originDue(now: now),
                plan.takesConfirmation || flight.plan.cached == nil
                    || plan.key.scope.scope != .shared
            {
                return (flight, false)
            }
            guard inFlight.take(plan.payer) else { return nil }
            let flight = make()
            if isShared { inFlight.joinable[plan.key] = flight }
            if isShared { _ = inFlight.reads.take(Reader(of: plan)) }
            return (flight, true)
        }
    }

    func remove(_ flight: Flight) {
        let (key, payer) = (flight.plan.key, flight.plan.payer)
        inFlight.withLock { inFlight in
            if inFlight.joinable[key] === flight { inFlight.joinable[key] = nil }
            inFlight.release(payer)
            if flight.plan.pipe == nil { inFlight.reads.release(Reader(of: flight.plan)) }
        }
    }

    /// Whether the clients of a user need the places that are left, at an origin or in all.
    func isBusy(_ origin: OriginName, _ uid: UInt32?) -> Bool {
        inFlight.withLock { inFlight in
            inFlight.reads.count(of: Reader(uid, origin)) >= Limits.requestsBesidePollsMax
                || inFlight.quota.count >= Limits.flightsBesidePollsMax
        }
    }

    /// Counts a request that is passed on; false if too many are in flight.
    func enter(_ payer: ScopeKey) -> Bool { inFlight.withLock { $0.take(payer) } }

    func leave(_ payer: ScopeKey) { inFlight.withLock { $0.release(payer) } }

    func isUsed(by scopes: RowScopes) -> Bool {
        inFlight.withLock { $0.scopes.keys.contains { scopes.covers($0.scope) } }
    }

    var joinable: [Flight] { inFlight.withLock { Array($0.joinable.values) } }

    var count: Int { inFlight.withLock { $0.quota.count } }
}
