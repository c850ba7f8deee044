import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream

@testable import LarderEngine

/// Several users of an origin that shares its answers.
extension EngineSimulation {
    /// Who has sent a read off.
    struct Sender {
        let flight: Flight
        /// In whose scope the answer is kept; nil for the shared one.
        let user: Int?
        /// Whose it is if it is private.
        let payer: Int
    }

    /// A flight for as long as its own task keeps it.
    struct WeakFlight {
        private(set) weak var flight: Flight?
    }

    /// Keeps the flights of a step until they have finished.
    ///
    /// The table forgets an earlier flight of a key as soon as another one starts.
    func noteFlights() {
        guard hasUsers else { return }
        flights.removeAll { $0.flight == nil }
        for flight in daemon.engine.context.flights.joinable
        where !flights.contains(where: { $0.flight === flight }) {
            flights.append(WeakFlight(flight: flight))
        }
    }

    /// Finds out which flight a request is of: the only one for its URL that has not asked yet.
    func noteSender(of asked: SimulatedOrigin.Request) {
        guard hasUsers, !asked.isTurnedAway else { return }
        let waiting = Set(origin.waiting.map(\.number))
        senders = senders.filter { waiting.contains($0.key) }
        let flights = flights.compactMap(\.flight).filter { flight in
            flight.plan.key.url == asked.request.url
                && !senders.values.contains { $0.flight === flight }
        }
        guard flights.count == 1, let flight = flights.first else {
            hasUnknownSender = true
            return note("     nobody knows who asks")
        }
        let (key, payer) = (flight.plan.key.scope, flight.plan.payer)
        let scope = flight.isPrivate ? payer : key
        senders[asked.number] = Sender(
            flight: flight,
            user: user(of: scope),
            payer: user(of: payer) ?? 0
        )
        note("     by \(scope.text), paid by \(payer.text)")
    }

    private func user(of scope: ScopeKey) -> Int? {
        scopes.firstIndex { daemon.store.key(for: $0) == scope }
    }

    /// Nil where nobody knows who asks.
    func reading(_ request: SimulatedOrigin.Request) -> PlainReading? {
        guard hasUsers else { return PlainReading(since: request.moment, user: user) }
        return senders[request.number].map { PlainReading(since: request.moment, user: $0.user) }
    }

    /// Whose write it is, or check of one.
    func user(of request: SimulatedOrigin.Request) -> Int {
        request.kind == .write ? modifier(of: request).user : checker
    }

    /// Whether a 412 may have targets asked for: one user's at a time, as such a request does not say
    /// whose it is.
    func mayCheck() -> Bool {
        guard user != checker else { return true }
        let others = window.inputs.contains { input in
            if case .attemptEnded(_, .preconditionFailed) = input.event { true } else { false }
        }
        return !others && !judges[checker].queues.contains { !$0.checked.isEmpty }
    }

    /// What a user's judge is told of.
    func part(of window: SimulationJudge.Window, for user: Int) -> SimulationJudge.Window {
        guard hasUsers else { return window }
        var part = window
        part.departures.removeAll { $0.user != user }
        part.departuresAfterEnd.removeAll { $0.user != user }
        part.heard.removeAll { $0.user != user }
        part.inputs = window.inputs.compactMap { input in
            let others: (changes: [PlainModifier.Change], isSure: Bool)
            switch input.event {
            case .cacheLost, .mayBeLost(_, isShared: true): return input
            case .answeredRead(_, _, let reading), .confirmedRead(_, _, let reading),
                .refusedRead(_, let reading), .answeredList(_, let reading):
                return reading.user ?? user == user ? input : nil
            case _ where input.user == user: return input
            case _ where !isShared: return nil
            case .attemptEnded(let id, .confirmed):
                let joined = judges[input.user ?? 0].queues.flatMap { $0.members(of: id) }
                let changes = ((plain[id].map { [$0] } ?? []) + joined).flatMap(\.visible)
                others = (changes, true)
            case .answeredCheck(_, .said):
                others = (judges[input.user ?? 0].queues.flatMap(\.checked), false)
            case _: return nil
            }
            return SimulationInput(
                number: input.number,
                at: input.moment,
                event: .othersConfirmed(others.changes, isSure: others.isSure)
            )
        }
        return part
    }

    /// P-14: what a user has seen of a target never goes back, and one revision is one content.
    ///
    /// An answer of an entity's own URL that the disk does not take is told, and what it told is not kept.
    func checkRevision(_ path: String, _ revision: Revision, _ view: PlainView) throws {
        let key = "\(user)\(path)"
        guard !hasEntities || !hasDiskFailed else { return }
        if let last = seen[key] {
            try require(
                revision > last.revision || revision == last.revision && view == last.view,
                "\(key) is \(view) at \(revision), and was \(last.view) at \(last.revision)"
            )
        }
        seen[key] = (revision, view)
    }
}

extension PlainQueue {
    /// Whether what is asked for after a 412 shows there what it was to do.
    func isShownByCheck(_ path: String, _ view: PlainView) -> Bool {
        unsettled.contains { modifier in
            guard case .checking(let left, true, _) = modifier.standing, left.first == path
            else { return false }
            let effects = effects(of: modifier.id, on: path)
            return !effects.isEmpty && view != .unknown
                && PlainEffect.together(effects, on: view) == view
        }
    }

    /// The targets of what is checked after a 412.
    var checked: [PlainModifier.Change] {
        unsettled.filter { if case .checking = $0.standing { true } else { false } }
            .flatMap { [$0] + members(of: $0.id) }.flatMap(\.changes)
    }
}

extension SimulationJudge {
    func mayHavePinned(_ path: String) -> Bool { queues.contains { $0.pinned.contains(path) } }
}
