import LarderModel
import LarderStrategy
import LarderTestSupport

/// A shell around the machine whose commits, requests, crashes and people come in any order.
struct QueueWorld {
    typealias Action = ModifierQueue.Action

    var random: SeededRandom
    var queue = ModifierQueue()
    var judge = QueueJudge()
    var ledger = QueueLedger()
    /// The events and what they led to, unless nil.
    var log: [String]?
    /// Ways that groups went.
    var groupEvents: Set<GroupEvent> = []
    /// Whether origins often put groups off, and people often act on those that wait.
    var isPatient = false
    /// Whether modifiers may be joined.
    let joins: Bool
    var now = Duration.zero
    var wall = Timestamp.start
    /// Returned and not committed, in their order.
    var steps: [Action] = []
    var requests: [ModifierNumber] = []
    /// Asked for and not ended.
    var edits: [ModifierNumber] = []
    /// On the disk, and the machine has not heard of them.
    var untold: [ModifierRecord] = []
    var lastNumber: Int64 = 0
    /// Until when origins have told accounts to wait.
    var restEnds: [QueueJudge.Party: Duration] = [:]
    private var events = 0
    var rules = ModifierRules()
    let scopes: [Scope]
    let origins: [OriginName]
    let lanes: [Lane]

    init(seed: UInt64) throws {
        random = SeededRandom(seed: seed)
        joins = !seed.isMultiple(of: 3)
        scopes = [
            .own(uid: 1_000, account: .default), .own(uid: 1_000, account: try AccountName("b")),
            .own(uid: 1_001, account: .default),
        ]
        origins = [try OriginName("a"), try OriginName("b")]
        lanes = [
            .id(try EntryID("1")), .id(try EntryID("2")), .id(try EntryID("3")),
            .id(try EntryID("4")), .name(try LaneName("1")),
        ]
        rules.stalledAfter = 2
        rules.acceptedLimit = .seconds(20)
    }

    mutating func randomUnit() -> Double { Double(random.next() >> 11) / Double(1 << 53) }

    mutating func roll(_ sides: UInt64) -> UInt64 { random.next() % sides }

    /// Takes over what the machine returned.
    mutating func did(_ actions: [Action], _ event: String = #function) {
        log?.append("\(now) \(event): \(actions)")
        judge.saw(actions, now)
        for action in actions {
            switch action {
            case .send(let number): requests.append(number)
            case .commitSend, .changeState, .settle, .endWait, .probe: steps.append(action)
            }
        }
        events += 1
        judge.look(queue, now)
        for complaint in ledger.complaints { judge.complain(complaint) }
        // This looks at everything, and what it finds does not go away by itself.
        if events.isMultiple(of: 8), judge.complaints.isEmpty { queue.checkInvariants() }
    }

    // MARK: Accepting

    mutating func accept() {
        if joins, roll(3) > 0 { return acceptAlike() }
        for _ in 0...roll(3) {
            lastNumber += 1
            var record = ModifierRecord(
                number: ModifierNumber(lastNumber),
                scope: random.pick(scopes),
                origin: random.pick(origins),
                lanes: (0..<roll(4)).map { _ in random.pick(lanes) },
                resends: roll(2) == 0
            )
            record.holds = !record.resends && roll(3) == 0
            if roll(4) == 0 {
                record.state = .held
                record.holdUntil = wall.advanced(by: .seconds(Int64(roll(30))))
            }
            if roll(5) == 0 { record.expiresAt = wall.advanced(by: .seconds(Int64(roll(90)))) }
            if roll(5) == 0 { record.attemptsMax = Int(1 + roll(3)) }
            depend(&record)
            drawJoining(&record)
            accept(record)
        }
    }

    mutating func accept(_ record: ModifierRecord) {
        log?.append("accept: \(record)")
        judge.accepted(QueueJudge.Row(record: record, lanes: bits(of: record)))
        untold.append(record)
    }

    /// Has a modifier depend on some of those before it.
    mutating func depend(_ record: inout ModifierRecord) {
        for _ in 0..<roll(3) where roll(2) == 0 {
            let parent = ModifierNumber(1 + Int64(roll(UInt64(record.number.value))))
            guard parent < record.number, let row = judge.rows[parent] else { continue }
            if row.outcome == nil || row.outcome == .confirmed { record.dependsOn.append(parent) }
        }
    }

    func bits(of record: ModifierRecord) -> UInt64 {
        record.lanes.reduce(0) { $0 | bit($1, record.scope) }
    }

    func bit(_ lane: Lane, _ scope: Scope) -> UInt64 {
        guard let lane = lanes.firstIndex(of: lane), let scope = scopes.firstIndex(of: scope) else {
            return 0
        }
        return 1 << UInt64(scope * lanes.count + lane)
    }

    mutating func tell() {
        guard !untold.isEmpty else { return }
        let records = untold
        untold = []
        for record in records {
            let party = QueueJudge.Party(scope: record.scope, origin: record.origin)
            if !judge.isTold(party), let end = restEnds[party], end > now {
                judge.rests[party] = .paused(until: end)
            }
            judge.rows[record.number]?.isTold = true
            set(record.number)
        }
        let ends = restEnds.filter { $0.value > now }
        let actions = queue.accepted(records, now: now, wall: wall) { origin, scope in
            ends[QueueJudge.Party(scope: scope, origin: origin)]
        }
        did(actions)
    }

    /// An origin tells an account to wait.
    mutating func rest() {
        let party = QueueJudge.Party(scope: random.pick(scopes), origin: random.pick(origins))
        let end = max(restEnds[party] ?? .zero, now + .milliseconds(Int64(1 + roll(20_000))))
        restEnds[party] = end
        if judge.isTold(party) { judge.told(party, until: end) }
        did(queue.originAskedToWait(party.origin, for: party.scope, until: end, now: now))
    }

    /// Puts a row's stored moments on the monotonic clock, as far as they can be meant.
    private mutating func set(_ number: ModifierNumber) {
        guard let record = judge.rows[number]?.record else { return }
        func moment(_ stored: Timestamp?, _ cap: Duration) -> Duration? {
            stored.map { now + min(max($0.since(wall), .zero), cap) }
        }
        judge.rows[number]?.expires = moment(record.expiresAt, .seconds(366 * 86_400))
        let until: Duration? =
            switch record.state {
            case .held: moment(record.holdUntil, .seconds(86_400))
            case .retryWait: moment(record.nextAttemptAt, .seconds(3_600))
            case .accepted: moment(record.nextAttemptAt, rules.acceptedLimit)
            case .unknown:
                record.resends ? moment(record.nextAttemptAt, longestPause(record)) : nil
            case .queued, .inFlight, .confirmed, .authWait, .conflict, .failed, .cancelled: nil
            }
        judge.rows[number]?.until = until
        judge.rows[number]?.floor = record.state == .retryWait ? until ?? .zero : .zero
        judge.rows[number]?.wokenAfter = nil
    }

    /// The most that a backoff after the attempts of a record can be.
    private func longestPause(_ record: ModifierRecord) -> Duration {
        var ceiling = Duration.seconds(1)
        for _ in 1..<max(record.attempts, 1) { ceiling = min(ceiling * 2, .seconds(300)) }
        return ceiling
    }

    // MARK: Steps and answers

    /// Some step is committed, or a send step fails.
    mutating func commit() {
        guard !steps.isEmpty else { return }
        let step = steps.remove(at: Int(roll(UInt64(steps.count))))
        switch step {
        case .commitSend(let number, let followers): commitSend(step, number, followers)
        case .changeState(let number, _):
            let isMeant = apply(step)
            let actions = queue.changeCommitted(number, now: now)
            if !isMeant, !actions.isEmpty { judge.complain("\(number): a late commit counts") }
            did(actions)
        case .settle(let number, let outcome, let joined, _) where !joined.isEmpty:
            commitSettle(step, [number] + joined, outcome)
        case .settle(let number, _, _, _), .endWait(let number):
            apply(step)
            did(queue.settleCommitted(number, now: now))
        case .probe(let origin): if roll(2) == 0 { answered(origin) }
        case .send: break
        }
    }

    mutating func failSend(_ number: ModifierNumber) {
        let randomUnit = randomUnit()
        judge.rows[number]?.isAhead = false
        let pause = Duration.seconds(1) * (0.5 + 0.5 * randomUnit)
        judge.rows[number]?.until = now + pause
        judge.rows[number]?.record.nextAttemptAt = wall.advanced(by: pause)
        if judge.rows[number]?.wasUnknown == false {
            judge.rows[number]?.record.state = .retryWait
        }
        leaveSend(number, until: now + pause)
        if judge.rows[number]?.record.mayHaveLeft == false { judge.part(number) }
        did(queue.sendNotCommitted(number, randomUnit: randomUnit, now: now))
    }

    /// A send step ends after which nothing is sent.
    mutating func leaveSend(_ number: ModifierNumber, until end: Duration) {
        guard let row = judge.rows[number] else { return }
        let (origin, party) = (row.record.origin, judge.party(row))
        judge.rows[number]?.step = nil
        if judge.reach(origin) == .closed(trial: number) {
            judge.reaches[origin] = .closed(trial: nil)
        }
        if judge.rests[party] == .trying(number) { judge.rests[party] = .paused(until: end) }
        if judge.doubts[party]?.trial == number { judge.doubts[party]?.trial = nil }
    }

    /// Writes a step down as the store would; false for a change of what is settled or leaving.
    ///
    /// `joined` are those whose changes a request makes, too.
    @discardableResult
    mutating func apply(_ step: Action, joined: [ModifierNumber] = []) -> Bool {
        switch step {
        case .commitSend(let number, _):
            store(joined, with: number)
            judge.rows[number]?.record.state = .inFlight
            judge.rows[number]?.record.attempts += 1
            judge.rows[number]?.record.mayHaveLeft = true
            judge.rows[number]?.step = .attempt
            judge.rows[number]?.isOutdated = false
            judge.rows[number]?.isUnderEarlier = false
        case .changeState(let number, let change):
            guard judge.rows[number]?.step == .change(change) else { return false }
            judge.rows[number]?.step = nil
            let endedPause = judge.rows[number]?.endedPause
            judge.rows[number]?.until = endedPause ?? change.until
            judge.rows[number]?.record.state = change.state
            judge.rows[number]?.record.attempts = change.attempts
            judge.rows[number]?.record.answersNotApplied = change.answersNotApplied
            judge.rows[number]?.record.isStalled = change.isStalled
            judge.rows[number]?.record.isPerhapsApplied = change.isPerhapsApplied
            judge.rows[number]?.record.nextAttemptAt = change.until.map {
                wall.advanced(by: $0 - now)
            }
            storeChange(number, change)
        case .settle(let number, let outcome, let joined, let group):
            leave([number] + joined, outcome, dependants: group)
        case .endWait(let number): leave([number], .confirmed, dependants: [])
        case .send, .probe: break
        }
        return true
    }

    var pausedLanes: [(scope: Scope, lane: Lane)] {
        scopes.flatMap { scope in
            lanes.filter { judge.pausedLanes & bit($0, scope) != 0 }.map { (scope, $0) }
        }
    }

    /// The daemon is killed and starts again; what was being written is on the disk or not.
    mutating func crash() {
        log?.append("crash, steps \(steps)")
        for number in requests { lose(number) }
        for step in steps where roll(2) == 0 {
            switch step {
            case .commitSend(let number, let followers):
                apply(step, joined: departing(number, followers))
            case .changeState, .settle, .endWait, .send, .probe: apply(step)
            }
        }
        steps = []
        requests = []
        edits = []
        untold = []
        wall = wall.advanced(by: .seconds(Int64(roll(200)) - 100))
        queue = ModifierQueue()
        judge.refused = [:]
        judge.doubts = [:]
        judge.rests = [:]
        judge.failing = [:]
        judge.captive = []
        restEnds = [:]
        for origin in origins {
            guard judge.reach(origin) == .setOffline else {
                judge.reaches[origin] = nil
                continue
            }
            _ = queue.originSetOffline(origin, now: now)
        }
        var records: [ModifierRecord] = []
        for row in judge.unsettled {
            let number = row.record.number
            judge.rows[number]?.isTold = true
            judge.rows[number]?.step = nil
            judge.rows[number]?.wasUnknown = false
            judge.rows[number]?.isAhead = false
            judge.rows[number]?.endedPause = nil
            judge.rows[number]?.joinedTo = row.record.joinedInto
            if row.record.joinedInto != nil { groupEvents.insert(.restored) }
            // As a store says it.
            let mayHaveLeft = row.record.mayHaveLeft || row.record.attempts > 0
            judge.rows[number]?.record.mayHaveLeft = mayHaveLeft
            if row.record.state == .inFlight {
                judge.rows[number]?.record.isPerhapsApplied = true
            }
            judge.rows[number].map { records.append($0.record) }
            set(number)
            if row.record.state == .authWait {
                judge.refused[judge.party(row), default: []].insert(number)
                judge.doubts[judge.party(row)] = QueueJudge.Doubt(refusals: 3)
            }
        }
        let failed = judge.rows.values.filter {
            $0.outcome != nil && $0.outcome != .confirmed
        }.map(\.record.number)
        let limit = rules.acceptedLimit
        let actions = queue.restored(
            records,
            failed: Set(failed),
            paused: pausedLanes,
            acceptedLimit: { _ in limit },
            now: now,
            wall: wall
        )
        did(actions)
    }
}
