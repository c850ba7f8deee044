import LarderModel

/// Decides which of the clients that wait renews the credential of an account, and when.
///
/// Terms: an *order* asks the client that has waited longest to renew the credential. A *lease*
/// goes with it. While the lease is held no other client has an order, so no two clients use one
/// refresh token.
///
/// ```
///            order                a new credential under the lease
///    none ──────────► held ─────────────────────────────────────────► saving
///     ▲                │ its client left, or its time is over          ▲  │ not saved
///     │                ▼                                               │  │
///     │               over ────────────────────────────────────────────┘  │
///     │                │ ▲ next order: held, by another client            │
///     │                │ └────────────────────────────────────────────────┤
///     └────────────────┴──────── another credential is saved, or none ────┘
/// ```
///
/// Invariants (``checkInvariants()``):
/// 1. There is one lease at most, and its client does not wait.
/// 2. Clients wait in the order in which they came, each once.
/// 3. After n orders without success the next one comes ``Limits/renewalPauseBase`` · 2^(n - 1)
///    after the last at the earliest, at most ``Limits/renewalPauseMax``.
/// 4. After ``Limits/renewalRunMax`` orders in a short time the next one comes
///    ``Limits/renewalRunTime`` after the last at the earliest, whatever the clients do.
package struct RenewalMachine: Equatable, Sendable {
    package enum Reason: Sendable {
        case expiring
        case refused
    }

    /// A credential that has to be renewed, from a moment of the monotonic clock on.
    package struct Need: Equatable, Sendable {
        package let reason: Reason
        package let due: Duration

        package init(_ reason: Reason, due: Duration) {
            self.reason = reason
            self.due = due
        }
    }

    package enum Step: Equatable, Sendable {
        case renew(Reason)
        /// Until the moment, or until something happens.
        case wait(until: Duration?)
    }

    enum Lease: Equatable, Sendable {
        case none
        case held(String, Reason)
        case saving(String, Reason)
        case over(String, Reason)
    }

    private(set) var waiting: [Int] = []
    private(set) var lease = Lease.none
    /// Orders since the last success.
    private(set) var orders = 0
    /// The earliest moment of the next order.
    private(set) var rest = Duration.zero
    /// Orders of which each came soon after the last one, and the moment of the last.
    private var run = 0
    private var lastOrder: Duration?

    package init() {}

    /// Whether nothing is lost with the machine at `now`.
    package func isIdle(now: Duration) -> Bool { waiting.isEmpty && lease == .none && rest <= now }

    /// Whether a client renews the credential, or waits for the order.
    package var hasClient: Bool {
        switch lease {
        case .held, .saving: true
        case .none, .over: !waiting.isEmpty
        }
    }

    package mutating func clientCame(_ client: Int) {
        waiting.append(client)
        checkInvariants()
    }

    package mutating func clientLeft(_ client: Int) {
        waiting.removeAll { $0 == client }
    }

    /// The next step of a client that waits; `.renew` gives it the lease of this name.
    package mutating func next(
        for client: Int,
        _ need: Need?,
        lease name: String,
        now: Duration
    ) -> Step {
        switch lease {
        case .held, .saving: return .wait(until: nil)
        case .none, .over: break
        }
        guard let need, waiting.first == client else { return .wait(until: nil) }
        let due = max(need.due, rest)
        guard due <= now else { return .wait(until: due) }
        waiting.removeFirst()
        lease = .held(name, need.reason)
        let isSoon = lastOrder.map { now - $0 < Limits.renewalRunTime * 2 } ?? false
        run = isSoon ? min(run + 1, Limits.renewalRunMax) : 1
        lastOrder = now
        let least = run < Limits.renewalRunMax ? .zero : Limits.renewalRunTime
        let pause = min(Limits.renewalPauseBase.doubled(orders), Limits.renewalPauseMax)
        rest = now + max(pause, least)
        orders += 1
        checkInvariants()
        return .renew(need.reason)
    }

    package func isHeld(_ name: String) -> Bool {
        switch lease {
        case .held(name, _), .saving(name, _): true
        case .none, .held, .saving, .over: false
        }
    }

    /// The client with the lease has left, or its time is over.
    package mutating func leaseEnded(_ name: String) {
        if case .held(name, let reason) = lease { lease = .over(name, reason) }
    }

    /// A client gives a credential under a lease; false if the lease is not the last one, or a
    /// credential came since.
    package mutating func saving(under name: String) -> Bool {
        switch lease {
        case .held(name, let reason), .over(name, let reason):
            lease = .saving(name, reason)
            return true
        case .none, .held, .saving, .over: return false
        }
    }

    package mutating func notSaved() {
        if case .saving(let name, let reason) = lease { lease = .over(name, reason) }
    }

    /// The account has another credential, or none.
    package mutating func credentialChanged() {
        if case .saving(_, .refused) = lease {
            // Only the origin's answer says whether it is any better.
        } else {
            orders = 0
        }
        lease = .none
    }

    package mutating func credentialTaken(now: Duration) {
        if rest <= now { orders = 0 }
    }
}

extension RenewalMachine {
    /// Checks the invariants of the machine's documentation; costs nothing in release.
    func checkInvariants() {
        assert(Set(waiting).count == waiting.count, "a client waits once")
        assert(orders >= 0)
        switch lease {
        case .held: assert(orders > 0, "a lease goes with an order")
        case .none, .saving, .over: break
        }
    }
}
