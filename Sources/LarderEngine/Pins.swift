package import LarderAPI
package import LarderModel
package import LarderStore
import LarderStrategy
import LarderWire
import Synchronization

package struct Pins: EnginePart {
    let context: EngineContext
    private var keeper: PinKeeper { context.keeper }

    package enum Answer: Sendable {
        /// Its bytes are on disk; whether it was not pinned before.
        case held(PinItem, isNew: Bool)
        /// It is fetched as soon as its origin answers.
        case waiting(PinItem)
    }

    /// Keeps an entry for good: what is cached, else what its origin gives now or later.
    ///
    /// What the origin refuses, or what has no room, is a problem; its pin stays and says why.
    /// `wait` is how long the client waits for its origin to be back.
    package func pin(
        _ id: EntryID,
        _ scope: ScopeKey,
        wait: Duration? = nil,
        interest: Interest = Interest()
    ) async throws(Problem) -> Answer {
        guard !id.isEntity else {
            throw Problem(
                .badRequest,
                "'\(id)' is an entity, which cannot be pinned",
                hint: "Pin an answer that shows it, which keeps its entities too."
            )
        }
        let attempt = PinAttempt(context, scope, id)
        let asked = AskedPin()
        switch try await want(id, scope, attempt, asked) {
        case .held(let isNew):
            return .held(PinItem(try await pin(of: id, scope)), isNew: isNew)
        case .tooLarge(let trouble):
            throw Problem(trouble).ofPin
        case .waiting(let isNew):
            guard let attempt else { throw .nothingToPin(id) }
            return try await follow(attempt, asked, isNew: isNew, wait: wait, interest: interest)
        case .miss:
            throw .nothingToPin(id)
        }
    }

    /// Has the pin written, and its origin asked if it waits for that.
    ///
    /// The keeper leaves it alone from before it is wanted until it has heard what came of asking
    /// here: an attempt of the keeper's own would settle the pin a second time, and later than the
    /// client hears. That ends with the keeper's hearing: ended later, nobody would look again.
    private func want(
        _ id: EntryID,
        _ scope: ScopeKey,
        _ attempt: PinAttempt?,
        _ asked: AskedPin
    ) async throws(Problem) -> PinOutcome {
        keeper.beginAsking(scope, id)
        var isAsked = false
        defer { if !isAsked { keeper.endAsking(scope, id) } }
        let outcome = try await storing(
            await store.pins.pin(
                scope,
                id,
                origin: attempt?.origin.name,
                adoptsShared: context.sharedScope(of: id) != nil,
                now: clock.now()
            )
        )
        guard case .waiting = outcome, let attempt else { return outcome }
        isAsked = context.work.add { [keeper] in
            let outcome = await attempt.run()
            asked.outcome.withLock { $0 = outcome }
            // Which tells whoever waits for a pin.
            keeper.post(.askedForClient(attempt, outcome))
        }
        guard isAsked else { throw .daemonEnds }
        return outcome
    }

    /// Answers when what was asked of the origin is settled.
    ///
    /// Without `wait` it takes as long as a request to the origin may; while that is known to be
    /// down, no longer than a cached answer. With it, it takes until the pin waits no longer.
    private func follow(
        _ attempt: PinAttempt,
        _ asked: AskedPin,
        isNew: Bool,
        wait time: Duration?,
        interest: Interest
    ) async throws(Problem) -> Answer {
        let settings = attempt.origin.fetch
        let patience =
            time
            ?? (context.originStates.isDown(attempt.name) ? settings.networkWait : settings.timeout)
        let end = try await context.wait(upTo: patience, interest, on: keeper.listeners) {
            () async throws(Problem) -> Answer? in
            let outcome = asked.outcome.withLock { $0 }
            if case .refused(let problem) = outcome { throw problem.ofPin }
            let pin = try await pin(of: attempt.id, attempt.scope)
            switch pin.state {
            case .held, .gone:
                return .held(PinItem(pin), isNew: isNew)
            case .tooLarge where outcome != nil, .failed where outcome != nil:
                throw pin.trouble.map { Problem($0).ofPin }
                    ?? Problem(.internal, "the pin of '\(attempt.id)' does not say why")
            // What it says is of an attempt from before this client asked.
            case .waiting, .tooLarge, .failed:
                // The client's own attempt goes on, or it waits for the origin.
                guard case .notReached = outcome, time == nil else { return nil }
                return asked.waiting(pin)
            }
        }
        switch end {
        case .came(let answer): return answer
        case .ended: return asked.waiting(try await pin(of: attempt.id, attempt.scope))
        }
    }

    /// Gives an entry back to the cache; false when it was not pinned.
    package func unpin(_ id: EntryID, _ scope: ScopeKey) async throws(Problem) -> Bool {
        try await storing(await store.pins.unpin(scope, id, now: clock.now()))
    }

    package func list(
        _ query: PageQuery,
        _ scope: ScopeKey
    ) async throws(Problem) -> Page<PinItem> {
        let limit = try query.checkedLimit()
        let pins = try await storing(
            await store.pins.page(of: scope, after: query.cursor, limit: limit)
        )
        let next = pins.count == limit ? pins.last?.id.text : nil
        return Page(items: pins.map { PinItem($0) }, next: next)
    }

    private func pin(of id: EntryID, _ scope: ScopeKey) async throws(Problem) -> Pin {
        let pin = try await storing(await store.pins.pin(scope, id))
        guard let pin else { throw Problem(.miss, "'\(id)' was unpinned just now") }
        return pin
    }
}

/// What the attempt for one client has come to, once it is over; guarded by a lock.
private final class AskedPin: Sendable {
    let outcome = Mutex<PinAttempt.Outcome?>(nil)

    /// What is answered of a pin that goes on waiting: with what the attempt has met.
    func waiting(_ pin: Pin) -> Pins.Answer {
        var item = PinItem(pin)
        if case .notReached(let problem?) = outcome.withLock({ $0 }) {
            (item.problem, item.reason) = (problem.type, problem.detail)
        }
        return .waiting(item)
    }
}

extension LarderAPI.PinState {
    fileprivate init(_ state: PinState) {
        self =
            switch state {
            case .held: .held
            case .waiting: .waiting
            case .tooLarge: .tooLarge
            case .gone: .gone
            case .failed: .failed
            }
    }
}

extension PinItem {
    fileprivate init(_ pin: Pin) {
        self.init(
            id: pin.id.text,
            state: .init(pin.state),
            origin: pin.origin?.text,
            pinnedAt: .init(pin.pinnedAt)
        )
        bodyBytes = pin.entry?.body.byteCount
        storedAt = (pin.entry?.storedAt).map { .init($0) }
        rev = pin.entry?.revision.number
        problem = pin.trouble.map { "urn:larder:\($0.problem)" }
        reason = pin.trouble?.reason
    }
}

extension Problem {
    /// What is said of an id under which nothing is cached and which no origin can give.
    fileprivate static func nothingToPin(_ id: EntryID) -> Problem {
        if id.text.hasScheme, let url = try? WebURL(id.text) {
            return Problem(unknownOriginOf: url)
        }
        return Problem(
            .miss,
            "nothing is cached under '\(id)', and it is no URL of an origin",
            hint: "Put it with PUT /v1/entries/ID?pin=true, or pin the URL of a known origin."
        )
    }

    /// The problem where the pin is still there.
    fileprivate var ofPin: Problem {
        var problem = self
        problem.hint += " The pin stays and says so: pin it again to try again, or unpin it."
        return problem
    }
}
