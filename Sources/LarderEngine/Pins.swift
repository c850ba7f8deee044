package import LarderAPI
package import LarderModel
package import LarderStore
import LarderStrategy
import LarderWire
import Synchronization

package struct Pins: EnginePart {
    let context: EngineContext
    private var keeper: PinFetchRunner { context.keeper }

    package enum Answer: Sendable {
        /// The bytes are on disk; `isNew` if the entry was not pinned before.
        case held(PinItem, isNew: Bool)
        /// The entry is fetched as soon as its origin answers.
        case waiting(PinItem)
    }

    /// Keeps an entry permanently: the cached one, else the origin's answer now or later.
    ///
    /// Throws a problem if the origin refuses, or if there is no room; the pin stays and says why.
    ///
    /// `wait` is how long the client waits for the return of the origin. With `refresh` the origin
    /// is asked again at this interval.
    package func pin(
        _ given: EntryID,
        _ scope: ScopeKey,
        wait: Duration? = nil,
        refresh: Duration? = nil,
        cancellation: ClientCancellation = ClientCancellation()
    ) async throws(Problem) -> Answer {
        let id = store.modifiers.current(given, in: scope)
        guard !id.isEntity else {
            throw Problem(
                .badRequest,
                "'\(id)' is an entity, which cannot be pinned",
                hint: "Pin an answer that shows it, which keeps its entities too."
            )
        }
        if id.isOfRequest, id.readOrigin(in: scope, context) != nil,
            await FetchRequest.again(id, in: scope, context) == nil
        {
            throw Problem(
                .miss,
                "'\(id)' is not stored, so the daemon does not know the body of its request",
                hint: "Fetch it first: POST /v1/fetch with method and body."
            )
        }
        let attempt = PinAttempt(context, scope, id)
        let asked = AskedPin()
        switch try await want(id, scope, attempt, asked, refresh: refresh) {
        case .held(let isNew):
            return .held(item(try await pin(of: id, scope)), isNew: isNew)
        case .tooLarge(let trouble):
            throw Problem(trouble).ofPin
        case .waiting(let isNew):
            guard let attempt else { throw .nothingToPin(id) }
            return try await follow(
                attempt,
                asked,
                isNew: isNew,
                wait: wait,
                cancellation: cancellation
            )
        case .miss:
            throw .nothingToPin(id)
        }
    }

    /// Takes a place for the poller of a pin before the pin is written, and gives it back if the pin
    /// is not.
    private func want(
        _ id: EntryID,
        _ scope: ScopeKey,
        _ attempt: PinAttempt?,
        _ asked: AskedPin,
        refresh: Duration?
    ) async throws(Problem) -> PinOutcome {
        guard let refresh else { return try await want(id, scope, attempt, asked, interval: nil) }
        guard let attempt else { throw .notRefreshable(id) }
        try refresh.checkRefresh(at: attempt.origin)
        let (name, refreshes) = (attempt.name, context.refreshes)
        let before = refreshes.pinInterval(of: id, scope)
        func setPin(_ interval: Duration?) -> Bool {
            refreshes.setPin(id, scope, at: name, every: interval, since: nil, context)
        }
        guard setPin(refresh) else { throw .tooManyPolledRows }
        var isWritten = false
        defer { if !isWritten { _ = setPin(before) } }
        let outcome = try await want(id, scope, attempt, asked, interval: refresh)
        isWritten = outcome != .miss
        // A poll may have found no pin before it was written.
        if isWritten { _ = setPin(try await pin(of: id, scope).refresh ?? refresh) }
        if case .held = outcome, let entry = try await pin(of: id, scope).entry {
            refreshes.noteAnswer(of: id, scope, at: entry.storedAt, context)
        }
        return outcome
    }

    /// Writes the pin, and asks its origin if the pin waits for an answer.
    ///
    /// ``PinFetchRunner`` skips the pin from before it is written until it has handled the outcome
    /// of this attempt. A second attempt would settle the pin again, later than the client hears.
    /// If the skip ended later, no task would look at the pin again.
    private func want(
        _ id: EntryID,
        _ scope: ScopeKey,
        _ attempt: PinAttempt?,
        _ asked: AskedPin,
        interval: Duration?
    ) async throws(Problem) -> PinOutcome {
        keeper.beginAsking(scope, id)
        var isAsked = false
        defer { if !isAsked { keeper.endAsking(scope, id) } }
        let outcome = try await storing(
            await store.pins.pin(
                scope,
                id,
                origin: attempt?.origin.name,
                refresh: interval,
                adoptsShared: context.sharedScope(of: id, for: scope) != nil,
                now: clock.now()
            )
        )
        guard case .waiting = outcome, let attempt else { return outcome }
        isAsked = context.work.add { [keeper] in
            let outcome = await attempt.run()
            asked.outcome.withLock { $0 = outcome }
            // ``PinFetchRunner`` then tells the clients that wait for a pin.
            keeper.post(.askedForClient(attempt, outcome))
        }
        guard isAsked else { throw .daemonEnds }
        return outcome
    }

    /// Answers once the attempt for this client is settled.
    ///
    /// Without `wait` this takes at most the time of a request to the origin. If the origin is
    /// known to be down, it takes no longer than a cached answer. With `wait`, it takes until the
    /// pin no longer waits.
    private func follow(
        _ attempt: PinAttempt,
        _ asked: AskedPin,
        isNew: Bool,
        wait time: Duration?,
        cancellation: ClientCancellation
    ) async throws(Problem) -> Answer {
        let settings = attempt.origin.fetch
        let patience =
            time
            ?? (context.originStates.isDown(attempt.name) ? settings.networkWait : settings.timeout)
        let end = try await context.wait(upTo: patience, cancellation, on: keeper.listeners) {
            () async throws(Problem) -> Answer? in
            let outcome = asked.outcome.withLock { $0 }
            if case .refused(let problem) = outcome { throw problem.ofPin }
            let pin = try await pin(of: attempt.id, attempt.scope)
            switch pin.state {
            case .held, .gone:
                return .held(item(pin), isNew: isNew)
            case .tooLarge where outcome != nil, .failed where outcome != nil:
                throw pin.trouble.map { Problem($0).ofPin }
                    ?? Problem(.internal, "the pin of '\(attempt.id)' does not say why")
            // The pin describes an attempt from before this client asked.
            case .waiting, .tooLarge, .failed:
                // The client's own attempt goes on, or it waits for the origin.
                guard case .notReached = outcome, time == nil else { return nil }
                return asked.waiting(item(pin))
            }
        }
        switch end {
        case .came(let answer): return answer
        case .ended: return asked.waiting(item(try await pin(of: attempt.id, attempt.scope)))
        }
    }

    /// Gives an entry back to the cache; false when it was not pinned.
    package func unpin(_ given: EntryID, _ scope: ScopeKey) async throws(Problem) -> Bool {
        let id = store.modifiers.current(given, in: scope)
        let wasPinned = try await storing(await store.pins.unpin(scope, id, now: clock.now()))
        // Another client may have pinned it again, and a set may keep it.
        let left = try await storing(await store.pins.pin(scope, id))
        // There may be room now for an entry that had none.
        if wasPinned, left == nil, !store.pins.totals.failed.isEmpty {
            context.prefetches.roomCame(to: scope.scope.uid, context)
        }
        guard let left, !left.sets.isEmpty, let interval = left.refresh,
            let attempt = PinAttempt(context, scope, id)
        else {
            if left?.refresh == nil { context.refreshes.unpinned(id, scope, context) }
            if !wasPinned, let left, !left.isChosen { throw .keptBySets(left) }
            return wasPinned
        }
        let (name, refreshes) = (attempt.name, context.refreshes)
        refreshes.setPin(id, scope, at: name, every: interval, since: left.entry?.storedAt, context)
        guard wasPinned || left.isChosen else { throw .keptBySets(left) }
        return wasPinned
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
        return Page(items: pins.map { item($0) }, next: next)
    }

    private func item(_ pin: Pin) -> PinItem {
        var item = PinItem(pin)
        item.refreshing = context.refreshes.report(of: pin.id, pin.scope, context)
        return item
    }

    private func pin(of id: EntryID, _ scope: ScopeKey) async throws(Problem) -> Pin {
        let pin = try await storing(await store.pins.pin(scope, id))
        guard let pin else { throw Problem(.miss, "'\(id)' was unpinned just now") }
        return pin
    }
}

/// The outcome of the attempt for one client, once it is over; guarded by a lock.
private final class AskedPin: Sendable {
    let outcome = Mutex<PinAttempt.Outcome?>(nil)

    /// The answer about a pin that goes on waiting, with the problem of the attempt.
    func waiting(_ pin: PinItem) -> Pins.Answer {
        var item = pin
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
        keptBy = (pin.isChosen ? ["pin"] : []) + pin.sets.map { "prefetch:\($0)" }
    }
}

extension Problem {
    /// The problem of an id that has no cached entry and that no origin can give.
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

    /// No client has pinned it, and sets keep it.
    fileprivate static func keptBySets(_ pin: Pin) -> Problem {
        let names = pin.sets.map { "'\($0)'" }.joined(separator: ", ")
        return Problem(
            .pinned,
            "'\(pin.id)' is not pinned by itself: the set \(names) keeps it",
            hint: "Replace the set without it, or remove the set: DELETE /v1/prefetch/NAME."
        )
    }

    fileprivate static func notRefreshable(_ id: EntryID) -> Problem {
        if id.text.hasScheme, let url = try? WebURL(id.text) {
            return Problem(unknownOriginOf: url)
        }
        return Problem(.badRequest, "refresh: '\(id)' is no URL of an origin, which could be asked")
    }

    /// The problem where the pin is still there.
    fileprivate var ofPin: Problem {
        var problem = self
        problem.hint += " The pin stays and says so: pin it again to try again, or unpin it."
        return problem
    }
}
