import LarderAPI
import LarderModel
import LarderStore
import LarderStrategy
import LarderWire
import Logging
import Synchronization

/// Asks origins again for rows that followers or pins have refreshed: the shell of a
/// ``RefreshMachine``; guarded by a lock.
final class RefreshRunner: Sendable {
    typealias Row = RefreshMachine.Row
    typealias Account = RefreshMachine.Account

    private struct State {
        var machine = RefreshMachine()
        /// The fetches of followers, by their numbers: any of them asks for the row.
        var orders: [Row: [Int: FetchOrder]] = [:]
        var lastNumber = 0
        /// The next moment at which the runner looks without an event.
        var lookDue: Duration?
        /// Both clocks, as they were last.
        var clocks: (wall: Timestamp, monotonic: Duration)?

        /// Tells the machine of the time that the device slept since the last event, before that
        /// counts for a row that is new or has just been answered.
        mutating func catchUp(
            _ wall: Timestamp,
            _ now: Duration,
            randomUnit: @autoclosure () -> Double
        ) {
            defer { clocks = (wall, now) }
            guard let clocks, !machine.isEmpty else { return }
            let slept = wall.since(clocks.wall) - (now - clocks.monotonic)
            guard slept >= Limits.suspendTimeMin else { return }
            machine.slept(for: slept, now: now, randomUnit: randomUnit())
        }
    }

    private let state = Mutex(State())
    private let mailbox = Mailbox<Void>()
    /// Keeps looks from piling up.
    private let isLooking = Flag()
    // Relaxed: it only keeps answers from looking into the machine while no row is polled.
    private let isUsed = Atomic<Bool>(false)

    private func look() {
        if isLooking.raise() { mailbox.post(()) }
    }

    /// Changes the machine, which then is looked at.
    private func change<Value>(
        _ context: EngineContext,
        _ change: (inout State, _ now: Duration, _ randomUnit: Double) -> Value
    ) -> Value {
        let (now, randomUnit) = (context.clock.monotonic(), context.randomUnit())
        let wall = context.clock.now()
        let value = state.withLock { state in
            state.catchUp(wall, now, randomUnit: randomUnit)
            let value = change(&state, now, randomUnit)
            isUsed.store(!state.machine.isEmpty, ordering: .relaxed)
            return value
        }
        look()
        return value
    }

    // MARK: Followers

    /// A follower's wish, until the value is dropped; nil if its user has too many polled rows.
    func follow(
        _ id: EntryID,
        _ scope: ScopeKey,
        _ order: FetchOrder,
        at origin: OriginName,
        every interval: Duration,
        since answered: Timestamp?,
        isOwn: Bool,
        _ context: EngineContext
    ) -> Interest? {
        let row = Row(scope.scope, id)
        let age = context.clock.age(since: answered)
        let number = change(context) { state, now, randomUnit -> Int? in
            guard
                state.machine.followed(
                    row,
                    at: origin,
                    every: interval,
                    age: age,
                    isOwn: isOwn,
                    now: now,
                    randomUnit: randomUnit
                )
            else { return nil }
            state.lastNumber += 1
            state.orders[row, default: [:]][state.lastNumber] = order
            return state.lastNumber
        }
        return number.map { number in
            Interest { [self, context] in
                change(context) { state, now, randomUnit in
                    state.orders[row]?[number] = nil
                    if state.orders[row]?.isEmpty == true { state.orders[row] = nil }
                    state.machine.unfollowed(row, every: interval, now: now, randomUnit: randomUnit)
                }
            }
        }
    }

    /// Throws if a user would have too many polled rows with a list, in place of an old one.
    func checkRoom(
        for ids: [EntryID],
        _ scope: ScopeKey,
        inPlaceOf old: [EntryID] = []
    ) throws(Problem) {
        let left = Set(old).subtracting(ids)
        let hasRoom = state.withLock { state in
            func isPolled(_ id: EntryID) -> Bool {
                state.machine.schedule(of: Row(scope.scope, id)) != nil
            }
            let (new, gone) = (ids.count { !isPolled($0) }, left.count(where: isPolled))
            let polled = state.machine.count(of: scope.scope.uid)
            return polled + new - gone <= Limits.polledRowsPerUserMax
        }
        guard hasRoom else { throw .tooManyPolledRows }
    }

    // MARK: Pins

    /// Sets or removes the interval that a pin asks for; false if its user has too many polled rows.
    @discardableResult
    func setPin(
        _ id: EntryID,
        _ scope: ScopeKey,
        at origin: OriginName,
        every interval: Duration?,
        since answered: Timestamp?,
        _ context: EngineContext
    ) -> Bool {
        let row = Row(scope.scope, id)
        let age = context.clock.age(since: answered)
        return change(context) { state, now, randomUnit in
            guard let interval else {
                state.machine.unpinned(row, now: now, randomUnit: randomUnit)
                return true
            }
            return state.machine.pinned(
                row,
                at: origin,
                every: interval,
                age: age,
                now: now,
                randomUnit: randomUnit
            )
        }
    }

    /// A pin that is written has bytes already, of this time.
    func noteAnswer(of id: EntryID, _ scope: ScopeKey, at time: Timestamp, _ context: EngineContext)
    {
        let age = context.clock.age(since: time)
        change(context) { state, now, randomUnit in
            state.machine.aged(Row(scope.scope, id), age, now: now, randomUnit: randomUnit)
        }
    }

    func pinInterval(of id: EntryID, _ scope: ScopeKey) -> Duration? {
        state.withLock { $0.machine.pinInterval(of: Row(scope.scope, id)) }
    }

    func unpinned(_ id: EntryID, _ scope: ScopeKey, _ context: EngineContext) {
        guard pinInterval(of: id, scope) != nil else { return }
        change(context) { state, now, randomUnit in
            state.machine.unpinned(Row(scope.scope, id), now: now, randomUnit: randomUnit)
        }
    }

    /// The `min_refresh` that an origin has now holds for the rows that are polled already.
    func settingsChanged(of name: OriginName, _ context: EngineContext) {
        guard let least = context.origins[name]?.settings.fetch.minRefresh else { return }
        change(context) { state, now, randomUnit in
            state.machine.bounded(name, by: least, now: now, randomUnit: randomUnit)
        }
    }

    // MARK: Reports

    func report(of id: EntryID, _ scope: Scope, _ context: EngineContext) -> RefreshReport {
        var report = RefreshReport()
        guard let found = state.withLock({ $0.machine.schedule(of: Row(scope, id)) }) else {
            return report
        }
        report.refresh = found.interval
        let account = found.account
        if let pause = context.originStates.refreshPause(of: account.origin, for: account.scope) {
            report.refreshPausedBy = LarderAPI.RefreshPause(rawValue: pause.rawValue)
        }
        report.nextRefreshAt = found.next.map { next in
            let wait = max(.zero, next - context.clock.monotonic())
            return .init(context.clock.now().advanced(by: wait))
        }
        return report
    }

    /// Whether the runner has done all that is due at a moment; for tests.
    func isQuiet(at now: Duration) -> Bool {
        !isLooking.isUp
            && state.withLock { state in
                state.machine.isQuiet(at: now) && state.lookDue.map { $0 > now } ?? true
            }
    }

    /// Whether rows wait for a place or for an origin; for tests.
    var isHeldUp: Bool { state.withLock { $0.machine.isHeldUp } }

    // MARK: Answers

    /// A request has ended, of a client or of a poll; the interval of its row counts from here on.
    func landed(_ flight: Flight, _ outcome: FlightOutcome, _ context: EngineContext) {
        guard isUsed.load(ordering: .relaxed) else { return }
        let plan = flight.plan
        let id: EntryID?
        switch outcome {
        case .current(let answer): id = answer.entry.id
        case .deleted: id = plan.rowID(context)
        case .failed, .refused, .passed: id = nil
        }
        let scope = flight.isPrivate ? plan.payer.scope : plan.key.scope.scope
        let (now, randomUnit) = (context.clock.monotonic(), context.randomUnit())
        let wall = context.clock.now()
        let isHeldUp = state.withLock { state in
            state.catchUp(wall, now, randomUnit: randomUnit)
            if let id { state.machine.answered(id, in: scope, now: now, randomUnit: randomUnit) }
            return state.machine.isHeldUp
        }
        if id != nil || isHeldUp { look() }
    }
}

// MARK: Running

extension RefreshRunner {
    func run(_ context: EngineContext) async {
        let news = context.credentials.news
        let seat = news.add { [weak self] in self?.lookAtAccounts() }
        defer { news.remove(seat) }
        await withDiscardingTaskGroup { group in
            let timer = DeadlineTimer()
            group.addTask { await timer.run(context.clock) { self.look() } }
            if context.store.pins.totals.count > 0 { await restore(context) }
            // Down origins are asked whether they are back while rows of them are paused.
            var interests: [Account: Interest] = [:]
            var timerDue: Duration?
            look()
            for await _ in mailbox.events {
                isLooking.lower()
                let polls = polls(context)
                for poll in polls { group.addTask { await self.run(poll, context) } }
                let paused = Set(state.withLock { Array($0.machine.pausedAccounts) })
                for account in interests.keys where !paused.contains(account) {
                    interests[account] = nil
                }
                for account in paused where interests[account] == nil {
                    interests[account] = context.originStates.waitForReturn(
                        of: account.origin,
                        as: account.scope
                    ) { [weak self] in self?.look() }
                }
                let due = nextLook(paused, context)
                state.withLock { $0.lookDue = due }
                guard due != timerDue else { continue }
                timerDue = due
                timer.set(due)
            }
            group.cancelAll()
        }
    }

    private func lookAtAccounts() {
        if state.withLock({ $0.machine.isHeldUp }) { look() }
    }

    /// Has pins refreshed again that were before the daemon started.
    private func restore(_ context: EngineContext) async {
        do throws(StoreError) {
            var last: Int64 = 0
            while true {
                let page = try await context.store.pins.refreshed(after: last)
                guard let end = page.last else { return }
                last = end.number
                for pin in page {
                    try await restore(pin, context)
                }
            }
        } catch {
            context.note("pins that are refreshed were not looked up", error)
        }
    }

    /// A client may have given the pin another interval meanwhile.
    private func restore(_ pin: Pin, _ context: EngineContext) async throws(StoreError) {
        let scope = context.store.key(for: pin.scope)
        guard let given = pin.refresh, pinInterval(of: pin.id, scope) == nil else { return }
        let attempt = PinAttempt(context, scope, pin.id)
        guard let name = attempt?.name ?? pin.origin else { return }
        let interval = max(given, attempt?.origin.fetch.minRefresh ?? given)
        // The row of a pin that keeps a shared one has no bytes.
        let whole = pin.entry == nil ? try await context.store.pins.pin(scope, pin.id) : pin
        let answered = whole?.entry?.storedAt
        setPin(pin.id, scope, at: name, every: interval, since: answered, context)
    }

    /// Tells the machine what the clocks and the origins say, and returns the polls that leave.
    private func polls(_ context: EngineContext) -> [RefreshMachine.Poll] {
        let (wall, now) = (context.clock.now(), context.clock.monotonic())
        return state.withLock { state in
            state.catchUp(wall, now, randomUnit: context.randomUnit())
            guard !state.machine.isEmpty else { return [] }
            let states = context.originStates
            func isShut(_ account: Account) -> Bool {
                states.refreshPause(of: account.origin, for: account.scope) != nil
            }
            for account in Array(state.machine.pausedAccounts) where !isShut(account) {
                state.machine.accountOpened(account, now: now, randomUnit: context.randomUnit())
            }
            return state.machine.looked(now: now, isShut: isShut) { context.flights.isBusy($0, $1) }
        }
    }

    /// The next moment at which something may have changed without an event.
    private func nextLook(_ paused: Set<Account>, _ context: EngineContext) -> Duration? {
        let now = context.clock.monotonic()
        let due = state.withLock { state -> Duration? in
            guard !state.machine.isEmpty else { return nil }
            let look = now + Limits.suspendLookTime
            return min(state.machine.nextDue ?? look, look)
        }
        let states = context.originStates
        let ends = paused.compactMap { states.retryAfterEnd(of: $0.origin, for: $0.scope) }
        return due.map { min($0, ends.min() ?? $0) }
    }

    private func run(_ poll: RefreshMachine.Poll, _ context: EngineContext) async {
        let outcome = await outcome(of: poll.row, context)
        change(context) { state, now, randomUnit in
            state.machine.pollEnded(poll.number, outcome, now: now, randomUnit: randomUnit)
        }
    }

    private func outcome(
        of row: Row,
        _ context: EngineContext
    ) async -> RefreshMachine.Outcome {
        let scope = context.store.key(for: row.scope)
        let (order, isPinned) = state.withLock { state in
            let first = state.orders[row]?.min { $0.key < $1.key }
            return (first?.value, state.machine.pinInterval(of: row) != nil)
        }
        do throws(StoreError) {
            if isPinned {
                guard let pin = try await context.store.pins.pin(scope, row.id),
                    pin.refresh != nil
                else { return .unpinned }
                // A pin that waits for its bytes is ``PinFetchRunner``'s to fetch.
                guard !pin.isWanted else { return .answered }
                guard let attempt = PinAttempt(context, scope, row.id) else { return .failed }
                guard mayLeave(row, to: attempt.name, context) else { return .shut }
                let outcome = try await attempt.poll()
                return self.outcome(outcome, attempt.name, scope, context)
            }
            guard let order else { return .answered }
            // The follower's credential may be another by now.
            guard let origin = try? context.origin(of: order.url, in: scope) else { return .failed }
            guard mayLeave(row, to: origin.name, context) else { return .shut }
            let request = FetchRequest(order, origin: origin)
            let outcome = try await context.flightStarter.poll(request, scope)
            return self.outcome(outcome, origin.name, scope, context)
        } catch {
            context.note("a row was not refreshed", error, of: row.id)
            return .failed
        }
    }

    /// Whether a poll may leave to the origin that the URL of its row belongs to now.
    private func mayLeave(_ row: Row, to origin: OriginName, _ context: EngineContext) -> Bool {
        let isKnown = state.withLock { state in
            guard state.machine.schedule(of: row)?.account.origin != origin else { return true }
            state.machine.moved(row, to: origin)
            return false
        }
        return isKnown || context.originStates.refreshPause(of: origin, for: row.scope) == nil
    }

    private func outcome(
        _ outcome: FlightOutcome,
        _ origin: OriginName,
        _ scope: ScopeKey,
        _ context: EngineContext
    ) -> RefreshMachine.Outcome {
        switch outcome {
        case .current, .deleted: return .answered
        case .failed, .refused, .passed:
            switch context.originStates.refreshPause(of: origin, for: scope.scope) {
            case nil, .retryAfter?: return .failed
            case .offline?, .captive?, .setOffline?, .credential?: return .shut
            }
        }
    }
}

extension FlightStarter {
    /// Asks the origin of a row again, on condition that what is cached has changed.
    func poll(_ request: FetchRequest, _ scope: ScopeKey) async throws(StoreError) -> FlightOutcome
    {
        let lookupScopes = context.lookupScopes(scope, request)
        let known = try await context.store.read { [context] reader throws(StoreError) in
            try request.lookUp(reader, lookupScopes, in: context, isUse: false)
        }
        return await answer(to: request, scope, cached: known, isUse: false)
    }
}

extension EngineClock {
    /// The time since an answer; none if there is no answer.
    fileprivate func age(since answered: Timestamp?) -> Duration {
        answered.map { max(.zero, now().since($0)) } ?? .zero
    }
}

extension OriginStates {
    /// The values are those of the API.
    enum RefreshPause: String {
        case offline
        case captive
        case setOffline = "set_offline"
        case retryAfter = "retry_after"
        case credential
    }

    /// The reason for which no poll of an account leaves to an origin now; nil if one may.
    func refreshPause(of name: OriginName, for scope: Scope) -> RefreshPause? {
        if isManuallyOffline(name) { return .setOffline }
        switch context.health[name]?.state {
        case .offline?: return .offline
        case .captive?: return .captive
        case .unknown?, .online?, nil: break
        }
        if retryAfterEnd(of: name, for: scope) != nil { return .retryAfter }
        return context.credentials.isRefused(CredentialName(scope, at: name)) ? .credential : nil
    }
}
