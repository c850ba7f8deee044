package import LarderModel

/// Decides when the daemon asks origins again for rows that followers or pins have refreshed.
///
/// # Terms
///
/// - A row is *polled* while a follower or its pin asks for an interval. The shortest one counts.
/// - A *poll* is one request for a row that no client waits for.
/// - An *account* is an account of a user at one origin. It is *shut* while no poll may leave for
///   it: the origin is down or offline, it has asked the account to wait, or the account waits for
///   a credential.
/// - The *wait* of a row counts from its last answer, whichever client caused it, or from its last
///   failure. It is the interval, doubled by each failure in a row.
///
/// # States of a row
///
/// ```
///                looked, its time has come         looked, there is a place
///   waiting ──────────────────────────────► ready ─────────────────────────► asked
///    ▲ ▲ ▲  └─────── the account is shut ─┐   │ the account is shut           │ │
///    │ │ │                                ▼   ▼                               │ │
///    │ │ └───────── accountOpened ─────── paused ◄────── pollEnded(.shut) ────┘ │
///    │ └──── answered ──── (ready, paused)                                      │
///    └───────────────────── pollEnded(.answered, .failed) ──────────────────────┘
/// ```
///
/// # Invariants (``checkInvariants()``)
///
/// 1. A row that is polled has an interval; a user has at most ``Limits/polledRowsPerUserMax``.
/// 2. One poll at a time is in flight for a row, ``Limits/pollsPerOriginMax`` for an origin and
///    ``Limits/pollsPerUserMax`` for a user.
/// 3. No poll leaves through an account that is shut.
/// 4. A wait is never shorter than the interval, and never longer than the interval or
///    ``Limits/refreshRetryMax``, whichever is longer, and a tenth of it.
/// 5. A row that is late because its account was shut, or the device slept, is asked once, within
///    its interval and ``Limits/refreshSpreadMax``.
/// 6. Users take turns at each origin, and origins take turns: the rows of one user do not hold up
///    those of another.
package struct RefreshMachine: Sendable {
    package struct Row: Hashable, Sendable {
        package let scope: Scope
        package let id: EntryID

        package init(_ scope: Scope, _ id: EntryID) { (self.scope, self.id) = (scope, id) }
    }

    package struct Account: Hashable, Sendable {
        package let origin: OriginName
        package let scope: Scope

        package init(_ origin: OriginName, _ scope: Scope) {
            (self.origin, self.scope) = (origin, scope)
        }
    }

    package struct Poll: Equatable, Sendable {
        package let number: Int
        package let row: Row
    }

    package enum State: Equatable, Sendable {
        /// Until a moment of the monotonic clock.
        case waiting(until: Duration)
        /// The row's time has come, and it waits for a place.
        case ready
        /// The row's time came while its account was shut.
        case paused
        case asked
    }

    package enum Outcome: Equatable, Sendable {
        /// The origin has answered for the row, also that it is gone.
        case answered
        case failed
        /// The poll failed, and its account is shut since.
        case shut
        /// The row is not pinned any more.
        case unpinned
    }

    struct Polled {
        var account: Account
        /// Whether its user has a row of their own, which no answer of the shared scope changes.
        var isOwn = false
        /// How many followers ask for an interval.
        var followers: [Duration: Int] = [:]
        var pin: Duration?
        /// The shortest interval that the origin allows, if its settings changed since.
        var least = Duration.zero
        var state = State.waiting(until: .zero)
        var failures = 0
        /// The moment of the last answer or failure.
        var since: Duration

        var interval: Duration? {
            [followers.keys.min(), pin].compactMap { $0 }.min().map { max($0, least) }
        }
    }

    /// Rows of one origin whose time has come, the longest waiting user first.
    struct Ready {
        var users: [UInt32?] = []
        var rows: [UInt32?: [Row]] = [:]
    }

    private(set) var rows: [Row: Polled] = [:]
    private var scopes: [EntryID: Set<Scope>] = [:]
    private(set) var users = Quota<UInt32?>(each: Limits.polledRowsPerUserMax)
    private(set) var ready: [OriginName: Ready] = [:]
    /// Origins with rows that are ready, the longest waiting first.
    private var turns: [OriginName] = []
    private(set) var paused: [Account: Set<Row>] = [:]
    private(set) var inFlight: [Int: (row: Row, account: Account)] = [:]
    private(set) var pollsOfOrigins = Quota<OriginName>(each: Limits.pollsPerOriginMax)
    private(set) var pollsOfUsers = Quota<UInt32?>(each: Limits.pollsPerUserMax)
    private var lastNumber = 0
    private var slots = Interned<Row>()
    private var positions = SlotPositions()
    private var timers = SlotHeap<Duration>()

    package init() {}

    package var isEmpty: Bool { rows.isEmpty }

    /// The moment at which the next row is ready; nil while no row waits.
    package var nextDue: Duration? { timers.first?.key }

    /// Whether rows wait for a place, or for an account to open.
    package var isHeldUp: Bool { !turns.isEmpty || !paused.isEmpty }

    /// Whether no row is due or asked at this moment.
    package func isQuiet(at now: Duration) -> Bool {
        turns.isEmpty && inFlight.isEmpty && (nextDue ?? .seconds(Int64.max)) > now
    }

    /// Accounts whose opening rows wait for.
    package var pausedAccounts: some Collection<Account> { paused.keys }

    package func count(of uid: UInt32?) -> Int { users.count(of: uid) }

    /// The interval of a row, and the moment of its next poll; nil for the moment while its account
    /// is shut.
    package func schedule(of row: Row) -> (interval: Duration, next: Duration?, account: Account)? {
        guard let polled = rows[row], let interval = polled.interval else { return nil }
        switch polled.state {
        case .waiting(let until): return (interval, until, polled.account)
        case .ready, .asked: return (interval, .zero, polled.account)
        case .paused: return (interval, nil, polled.account)
        }
    }

    // MARK: Followers and pins

    /// A follower asks for an interval; false if its user has too many polled rows.
    ///
    /// `age` is the time since the last answer for the row.
    package mutating func followed(
        _ row: Row,
        at origin: OriginName,
        every interval: Duration,
        age: Duration,
        isOwn: Bool = false,
        now: Duration,
        randomUnit: Double
    ) -> Bool {
        defer { checkInvariants() }
        guard add(row, at: origin, age: age, now: now) else { return false }
        if isOwn { rows[row]?.isOwn = true }
        change(row, now: now, randomUnit) { $0.followers[interval, default: 0] += 1 }
        return true
    }

    package mutating func unfollowed(
        _ row: Row,
        every interval: Duration,
        now: Duration,
        randomUnit: Double
    ) {
        defer { checkInvariants() }
        guard rows[row]?.followers[interval] != nil else { return }
        change(row, now: now, randomUnit) { polled in
            let left = (polled.followers[interval] ?? 1) - 1
            polled.followers[interval] = left == 0 ? nil : left
        }
    }

    /// A pin asks for an interval; false if its user has too many polled rows.
    package mutating func pinned(
        _ row: Row,
        at origin: OriginName,
        every interval: Duration,
        age: Duration,
        now: Duration,
        randomUnit: Double
    ) -> Bool {
        defer { checkInvariants() }
        guard add(row, at: origin, age: age, now: now) else { return false }
        change(row, now: now, randomUnit) { $0.pin = interval }
        return true
    }

    /// The last answer for a row is older than was known.
    package mutating func aged(_ row: Row, _ age: Duration, now: Duration, randomUnit: Double) {
        defer { checkInvariants() }
        guard let polled = rows[row], polled.failures == 0, case .waiting = polled.state else {
            return
        }
        rows[row]?.since = min(polled.since, now - age)
        setTime(of: row, now: now, randomUnit)
    }

    package mutating func unpinned(_ row: Row, now: Duration, randomUnit: Double) {
        defer { checkInvariants() }
        guard rows[row]?.pin != nil else { return }
        change(row, now: now, randomUnit) { $0.pin = nil }
    }

    package func pinInterval(of row: Row) -> Duration? { rows[row]?.pin }

    private mutating func add(
        _ row: Row,
        at origin: OriginName,
        age: Duration,
        now: Duration
    ) -> Bool {
        guard rows[row] == nil else { return true }
        guard users.take(row.scope.uid) else { return false }
        _ = slots.use(row)
        scopes[row.id, default: []].insert(row.scope)
        rows[row] = Polled(account: Account(origin, row.scope), since: now - max(.zero, age))
        return true
    }

    /// Changes who asks for a row, and sets its time if the interval is another then.
    mutating func change(
        _ row: Row,
        now: Duration,
        _ randomUnit: Double,
        _ change: (inout Polled) -> Void
    ) {
        guard var polled = rows[row] else { return }
        let before = polled.interval
        change(&polled)
        rows[row] = polled
        guard let interval = polled.interval else { return remove(row) }
        guard interval != before, case .waiting = polled.state else { return }
        setTime(of: row, now: now, randomUnit)
    }

    private mutating func remove(_ row: Row) {
        leaveState(of: row)
        rows[row] = nil
        users.release(row.scope.uid)
        scopes[row.id]?.remove(row.scope)
        if scopes[row.id]?.isEmpty == true { scopes[row.id] = nil }
        if let slot = slots.slot(of: row) { _ = slots.release(slot) }
    }

    // MARK: Answers

    /// The origin has answered for a row, to any client.
    ///
    /// An answer of the shared scope counts for every user without an own row. If it comes while the
    /// user's row is asked, the user has none any more.
    package mutating func answered(
        _ id: EntryID,
        in scope: Scope,
        now: Duration,
        randomUnit: Double
    ) {
        guard let found = scopes[id] else { return }
        defer { checkInvariants() }
        let isShared = scope == .shared
        for scope in isShared ? found : found.intersection([scope]) {
            let row = Row(scope, id)
            if isShared, rows[row]?.isOwn == true, rows[row]?.state != .asked { continue }
            rows[row]?.isOwn = !isShared
            rows[row]?.since = now
            rows[row]?.failures = 0
            guard rows[row]?.state != .asked else { continue }
            leaveState(of: row)
            setTime(of: row, now: now, randomUnit)
        }
    }

    package mutating func pollEnded(
        _ number: Int,
        _ outcome: Outcome,
        now: Duration,
        randomUnit: Double
    ) {
        guard let poll = inFlight.removeValue(forKey: number) else { return }
        defer { checkInvariants() }
        pollsOfOrigins.release(poll.account.origin)
        pollsOfUsers.release(poll.account.scope.uid)
        // The row may have been removed meanwhile, and polled again since.
        let isLast = !inFlight.values.contains { $0.row == poll.row }
        guard isLast, var polled = rows[poll.row], polled.state == .asked else { return }
        polled.since = now
        switch outcome {
        case .answered: polled.failures = 0
        case .failed, .shut: polled.failures += 1
        case .unpinned: polled.pin = nil
        }
        rows[poll.row] = polled
        guard polled.interval != nil else { return remove(poll.row) }
        if outcome == .shut {
            pause(poll.row)
        } else {
            setTime(of: poll.row, now: now, randomUnit)
        }
    }

    /// The URL of a row that is asked belongs to another origin by now.
    package mutating func moved(_ row: Row, to origin: OriginName) {
        defer { checkInvariants() }
        guard rows[row]?.state == .asked else { return }
        rows[row]?.account = Account(origin, row.scope)
    }

    // MARK: Accounts and clocks

    /// Polls may leave for an account again: its rows are asked once each, spread over their
    /// intervals.
    package mutating func accountOpened(_ account: Account, now: Duration, randomUnit: Double) {
        guard let late = paused.removeValue(forKey: account) else { return }
        defer { checkInvariants() }
        spread(late.sorted { $0.id.text < $1.id.text }, now: now, randomUnit)
    }

    /// The device slept, or its clock was set forward: this time counts in all waits.
    package mutating func slept(for time: Duration, now: Duration, randomUnit: Double) {
        defer { checkInvariants() }
        var late: [Row] = []
        for (row, polled) in rows {
            rows[row]?.since -= time
            guard case .waiting(let until) = polled.state else { continue }
            guard until - time > now else {
                late.append(row)
                continue
            }
            wait(row, until: until - time)
        }
        spread(late.sorted { $0.id.text < $1.id.text }, now: now, randomUnit)
    }

    /// Spreads rows that are late evenly, from a moment that chance sets.
    private mutating func spread(_ late: [Row], now: Duration, _ randomUnit: Double) {
        for (place, row) in late.enumerated() {
            // Steps of the golden ratio leave no two rows close to each other.
            let unit = (randomUnit + Double(place) * 0.618_033_988_749_895)
                .truncatingRemainder(dividingBy: 1)
            wait(row, until: now + Self.spread(rows[row]?.interval, unit))
        }
    }

    private static func spread(_ interval: Duration?, _ randomUnit: Double) -> Duration {
        min(interval ?? .zero, Limits.refreshSpreadMax) * randomUnit
    }

    static func wait(_ interval: Duration, failures: Int) -> Duration {
        min(interval.doubled(failures), max(interval, Limits.refreshRetryMax))
    }

    /// Sets the time of a row after its last answer or failure; a row that is late is asked soon.
    private mutating func setTime(of row: Row, now: Duration, _ randomUnit: Double) {
        guard let polled = rows[row], let interval = polled.interval else { return }
        let time = Self.wait(interval, failures: polled.failures)
        let due = polled.since + time * (1 + Limits.refreshJitter * randomUnit)
        wait(row, until: due > now ? due : now + Self.spread(interval, randomUnit))
    }

    // MARK: States

    private mutating func wait(_ row: Row, until moment: Duration) {
        guard let slot = slots.slot(of: row) else { return }
        rows[row]?.state = .waiting(until: moment)
        timers.set(slot, moment, &positions)
    }

    private mutating func pause(_ row: Row) {
        guard let account = rows[row]?.account else { return }
        rows[row]?.state = .paused
        paused[account, default: []].insert(row)
    }

    private mutating func becomeReady(_ row: Row) {
        guard let account = rows[row]?.account else { return }
        rows[row]?.state = .ready
        let uid = account.scope.uid
        if ready[account.origin] == nil { turns.append(account.origin) }
        if ready[account.origin]?.rows[uid] == nil {
            ready[account.origin, default: Ready()].users.append(uid)
        }
        ready[account.origin, default: Ready()].rows[uid, default: []].append(row)
    }

    /// Takes a row out of what holds it in its state.
    private mutating func leaveState(of row: Row) {
        guard let polled = rows[row] else { return }
        switch polled.state {
        case .waiting:
            if let slot = slots.slot(of: row) { timers.remove(slot, &positions) }
        case .ready:
            let (origin, uid) = (polled.account.origin, polled.account.scope.uid)
            ready[origin]?.rows[uid]?.removeAll { $0 == row }
            forgetIdle(origin, uid)
        case .paused:
            paused[polled.account]?.remove(row)
            if paused[polled.account]?.isEmpty == true { paused[polled.account] = nil }
        case .asked: break
        }
    }

    private mutating func forgetIdle(_ origin: OriginName, _ uid: UInt32?) {
        guard ready[origin]?.rows[uid]?.isEmpty == true else { return }
        ready[origin]?.rows[uid] = nil
        ready[origin]?.users.removeAll { $0 == uid }
        guard ready[origin]?.users.isEmpty == true else { return }
        ready[origin] = nil
        turns.removeAll { $0 == origin }
    }

    // MARK: Polls

    /// Returns the polls that leave now.
    ///
    /// `isShut` says whether an account is shut, and `isBusy` whether clients need a user's
    /// connections to an origin.
    package mutating func looked(
        now: Duration,
        isShut: (Account) -> Bool,
        isBusy: (OriginName, UInt32?) -> Bool
    ) -> [Poll] {
        defer { checkInvariants() }
        while let first = timers.first, first.key <= now {
            let row = slots[first.slot]
            timers.remove(first.slot, &positions)
            guard let account = rows[row]?.account else { continue }
            if isShut(account) { pause(row) } else { becomeReady(row) }
        }
        var polls: [Poll] = []
        var hasPlaces = true
        while hasPlaces {
            hasPlaces = false
            for origin in turns where pollsOfOrigins.count(of: origin) < Limits.pollsPerOriginMax {
                guard let row = takeReady(origin, isShut, isBusy) else { continue }
                polls.append(ask(row))
                hasPlaces = true
            }
        }
        return polls
    }

    /// The next row of the next user at an origin, which then goes to the end of both lines.
    private mutating func takeReady(
        _ origin: OriginName,
        _ isShut: (Account) -> Bool,
        _ isBusy: (OriginName, UInt32?) -> Bool
    ) -> Row? {
        for uid in ready[origin]?.users ?? []
        where pollsOfUsers.count(of: uid) < Limits.pollsPerUserMax && !isBusy(origin, uid) {
            while let row = ready[origin]?.rows[uid]?.first {
                ready[origin]?.rows[uid]?.removeFirst()
                let isPaused = isShut(Account(origin, row.scope))
                if isPaused { pause(row) } else { goToTheEnd(origin, uid) }
                forgetIdle(origin, uid)
                if !isPaused { return row }
            }
        }
        return nil
    }

    private mutating func goToTheEnd(_ origin: OriginName, _ uid: UInt32?) {
        ready[origin]?.users.removeAll { $0 == uid }
        ready[origin]?.users.append(uid)
        turns.removeAll { $0 == origin }
        turns.append(origin)
    }

    private mutating func ask(_ row: Row) -> Poll {
        lastNumber += 1
        let account = rows[row]?.account
        rows[row]?.state = .asked
        if let account {
            inFlight[lastNumber] = (row, account)
            _ = pollsOfOrigins.take(account.origin)
            _ = pollsOfUsers.take(account.scope.uid)
        }
        return Poll(number: lastNumber, row: row)
    }
}
