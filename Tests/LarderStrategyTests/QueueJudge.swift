import LarderModel
import LarderStrategy

/// The rules of the modifier queue, judged from outside by walking over everything.
///
/// It knows the rows as a store would have them, and what was told of origins, lanes and
/// credentials; nothing of the machine's inside.
struct QueueJudge {
    typealias Action = ModifierQueue.Action
    typealias Outcome = ModifierQueue.Outcome

    struct Row {
        var record: ModifierRecord
        /// A bit for each lane of each account.
        var lanes: UInt64
        /// On the monotonic clock: the end of a hold, the next attempt, the end of `accepted`.
        var until: Duration?
        var expires: Duration?
        var outcome: Outcome?
        /// Whether the machine has heard of it.
        var isTold = false
        /// What was returned for it and is not committed, or its attempt that has not ended.
        var step: Step?
        /// Of a row whose send step is being written or in flight.
        var wasUnknown = false
        var hadLeft = false
        /// Before it only a hand ends its pause.
        var floor = Duration.zero
        /// When the operator has ended the pause that is being written down.
        var endedPause: Duration?
        /// Whether its attempt was sent with earlier settings of the origin.
        var isOutdated = false
        /// Whether its attempt was sent with an earlier credential of its account.
        var isUnderEarlier = false
        /// Whether earlier ones that come into its lanes wait for the end of its attempt.
        var isAhead = false
        /// Those whose attempt had ended when an edit brought it into their lanes.
        var passes: Set<ModifierNumber> = []
        /// The attempts after which another's success has ended its pause.
        var wokenAfter: Int?
        /// The first of its group, as the machine has to know it; the record says it as a store.
        var joinedTo: ModifierNumber?
        /// As a store counts it: all attempts of one round carry the same key.
        var round = 1

        var isPausing: Bool {
            step == nil && (record.state == .retryWait || record.state == .unknown)
        }
    }

    enum Step: Equatable {
        case send
        case attempt
        case change(ModifierQueue.Change)
        /// Of a joined modifier: it is accepted with the first of its group.
        case changeWithFirst
        case edit
        /// Of the first of a group, while a step of another one takes the group apart.
        case parting
        case settle(Outcome, leader: ModifierNumber)
    }

    enum Reach: Equatable {
        case open(from: Duration)
        case closed(trial: ModifierNumber?)
        case setOffline
    }

    struct Party: Hashable {
        let scope: Scope
        let origin: OriginName
    }

    /// What is known of an account that an origin has told to wait; open without it.
    enum Rest: Equatable {
        /// From then on one is tried.
        case paused(until: Duration)
        case trying(ModifierNumber)
        case waking(from: Duration)
    }

    struct Doubt: Equatable {
        /// Answers in a row.
        var refusals = 0
        var trial: ModifierNumber?

        var admits: Bool { trial == nil && refusals < 3 }
    }

    var rows: [ModifierNumber: Row] = [:]
    /// Those that are not settled, in the order of their numbers.
    private(set) var live: [ModifierNumber] = []
    var reaches: [OriginName: Reach] = [:]
    /// As ``Row/lanes``.
    var pausedLanes: UInt64 = 0
    /// Those that were answered 401 or 407, until there is another credential.
    var refused: [Party: Set<ModifierNumber>] = [:]
    var rests: [Party: Rest] = [:]
    /// Accounts whose credential no answer has confirmed since it was refused; open without it.
    var doubts: [Party: Doubt] = [:]
    /// Ends of attempts in a row by which nothing was done.
    var failing: [OriginName: Int] = [:]
    /// Origins in whose place a portal answered last.
    var captive: Set<OriginName> = []
    private(set) var complaints: [String] = []

    mutating func complain(_ text: String) { complaints.append(text) }

    func reach(_ origin: OriginName) -> Reach { reaches[origin] ?? .open(from: .zero) }

    var unsettled: [Row] { live.compactMap { rows[$0] } }

    mutating func accepted(_ row: Row) {
        rows[row.record.number] = row
        live.append(row.record.number)
    }

    mutating func settled(_ number: ModifierNumber, _ outcome: Outcome) {
        rows[number]?.outcome = outcome
        rows[number]?.step = nil
        live.removeAll { $0 == number }
        // A refusal is forgotten with the last that was refused.
        guard let gone = rows[number].map(party) else { return }
        if refused[gone]?.remove(number) != nil, refused[gone]?.isEmpty == true {
            refused[gone] = nil
            doubts[gone]?.refusals = 0
        }
        if !isTold(gone) { (rests[gone], doubts[gone], refused[gone]) = (nil, nil, nil) }
    }

    /// An account has another credential.
    ///
    /// A person who wants a refused one sent again says so, too; the credential is the same then.
    mutating func credentialChanged(_ party: Party, isOther: Bool = true) {
        for number in live where rows[number].map({ self.party($0) == party }) == true {
            if isOther, rows[number]?.step == .attempt { rows[number]?.isUnderEarlier = true }
        }
        guard doubts[party] != nil || refused[party] != nil else { return }
        refused[party] = nil
        doubts[party] = Doubt()
    }

    func parties(at origin: OriginName) -> Set<Party> {
        Set(live.compactMap { rows[$0].map(party) }.filter { $0.origin == origin })
    }

    /// An attempt has ended; true if it tells that the present credential is refused or missing.
    mutating func noteAccess(_ verdict: ModifierVerdict, of row: Row) -> Bool {
        let (number, party) = (row.record.number, party(row))
        if doubts[party]?.trial == number { doubts[party]?.trial = nil }
        guard !row.isOutdated, !row.isUnderEarlier else { return false }
        switch verdict {
        case .noCredential:
            refused[party, default: []].insert(number)
            return true
        case .authNeeded:
            refused[party, default: []].insert(number)
            doubts[party, default: Doubt()].refusals += 1
            return true
        case .confirmed, .accepted: doubts[party] = nil
        case .refused, .conflict: doubts[party]?.refusals = 0
        case .notNow, .serverFailed, .unclear, .captive, .neverLeft: break
        }
        return false
    }

    /// Whether the machine knows of any of a party.
    func isTold(_ party: Party) -> Bool {
        live.contains { rows[$0].map { $0.isTold && self.party($0) == party } ?? false }
    }

    /// An origin has told an account to wait.
    mutating func told(_ party: Party, until end: Duration) {
        switch rests[party] {
        case .paused(let known) where known >= end: break
        case .paused, .trying, .waking, nil: rests[party] = .paused(until: end)
        }
    }

    /// What a success at an origin means for those that sit out a backoff there.
    mutating func succeeded(at origin: OriginName, wake: Duration, _ now: Duration) {
        defer { failing[origin] = 0 }
        guard failing[origin, default: 0] >= 2 else { return }
        for number in live {
            guard let row = rows[number], row.isTold, row.isPausing, row.record.origin == origin,
                let until = row.until, until > now,
                row.wokenAfter.map({ row.record.attempts > $0 + 1 }) ?? true
            else { continue }
            let next = max(wake, row.floor)
            guard next < until else { continue }
            rows[number]?.until = next
            rows[number]?.wokenAfter = row.record.attempts
        }
    }

    /// The operator ends the pauses at an origin, those that it has asked for only where it has
    /// other settings.
    mutating func pausesEnded(at origin: OriginName, isAskedTimeOver: Bool, _ now: Duration) {
        for number in live where rows[number]?.isTold == true {
            guard let row = rows[number], row.record.origin == origin else { continue }
            if isAskedTimeOver { rows[number]?.floor = .zero }
            let next = isAskedTimeOver ? now : max(now, row.floor)
            if row.isPausing, let until = row.until, next < until { rows[number]?.until = next }
            if row.step == .edit || row.step == .parting,
                [.retryWait, .unknown].contains(row.record.state),
                let until = row.until, next < until
            {
                rows[number]?.until = next
            }
            guard case .change(let change) = row.step, let until = change.until, next < until,
                [.retryWait, .unknown].contains(change.state)
            else { continue }
            rows[number]?.endedPause = next
        }
    }

    /// An origin has other settings.
    mutating func settingsChanged(at origin: OriginName, _ now: Duration) {
        for party in parties(at: origin) { credentialChanged(party) }
        for (party, rest) in rests where party.origin == origin {
            switch rest {
            case .paused: rests[party] = .paused(until: now)
            case .waking(let start): rests[party] = start > now ? .paused(until: now) : nil
            case .trying: break
            }
        }
        for number in live where rows[number]?.record.origin == origin {
            if rows[number]?.step == .attempt { rows[number]?.isOutdated = true }
        }
        pausesEnded(at: origin, isAskedTimeOver: true, now)
    }

    func party(_ row: Row) -> Party { Party(scope: row.record.scope, origin: row.record.origin) }

    /// The modifiers that leave after an attempt, while their settle steps are written.
    var settlingAhead: Set<ModifierNumber> {
        let ahead = live.filter { number in
            guard let row = rows[number], case .settle = row.step else { return false }
            return row.isAhead
        }
        return Set(ahead)
    }

    // MARK: The rules, one by one

    func unmet(_ row: Row) -> [ModifierNumber] {
        row.record.dependsOn.filter { rows[$0].map { $0.outcome != .confirmed } ?? false }
    }

    func underWay(_ origin: OriginName) -> Int {
        live.count {
            guard let row = rows[$0], row.step == .send || row.step == .attempt else {
                return false
            }
            return row.record.origin == origin
        }
    }

    /// Those that nothing but their origin can keep from being sent, in the order of their numbers.
    func ready(_ now: Duration) -> [ModifierNumber] {
        var occupied = pausedLanes
        var free: [ModifierNumber] = []
        let ahead = live.filter { rows[$0]?.isAhead == true }
        for number in live where rows[number]?.isTold == true {
            let lanes = rows[number]?.lanes ?? 0
            let passes = rows[number]?.passes ?? []
            let isBlocked = ahead.contains {
                $0 != number && !passes.contains($0) && (rows[$0]?.lanes ?? 0) & lanes != 0
            }
            if lanes & occupied == 0, !isBlocked { free.append(number) }
            if rows[number]?.record.state != .accepted { occupied |= lanes }
        }
        return free.filter { rows[$0].map { isSendable($0, now) } ?? false }
    }

    private func isSendable(_ row: Row, _ now: Duration) -> Bool {
        guard row.step == nil, row.joinedTo == nil else { return false }
        switch row.record.state {
        case .queued: break
        case .retryWait, .unknown:
            guard let until = row.until, until <= now else { return false }
        case .held, .inFlight, .confirmed, .accepted, .authWait, .conflict, .failed, .cancelled:
            return false
        }
        switch rests[party(row)] {
        case nil: break
        case .paused(let end), .waking(let end): guard end <= now else { return false }
        case .trying: return false
        }
        return unmet(row).isEmpty && doubts[party(row)]?.admits ?? true
    }

    /// Those that depend on one and are not about to leave, by walking until nothing is added.
    func dependants(of number: ModifierNumber) -> [ModifierNumber] {
        var found: Set<ModifierNumber> = []
        while true {
            let more = live.filter { other in
                guard let row = rows[other], row.isTold, !found.contains(other) else {
                    return false
                }
                if case .settle = row.step { return false }
                return row.record.dependsOn.contains { $0 == number || found.contains($0) }
            }
            guard !more.isEmpty else { return found.sorted() }
            found.formUnion(more)
        }
    }

    // MARK: What the machine returned

    mutating func saw(_ actions: [Action], _ now: Duration) {
        for action in actions {
            switch action {
            case .commitSend(let number, let followers): sawSend(number, with: followers, now)
            case .send(let number):
                if rows[number]?.step != .attempt { complain("\(number): sent uncommitted") }
            case .changeState(let number, let change):
                if let step = rows[number]?.step, step != .attempt {
                    complain("\(number): a change within \(step)")
                }
                rows[number]?.step = .change(change)
                rows[number]?.isAhead = false
                rows[number]?.endedPause = nil
                guard change.state == .accepted else { continue }
                for member in members(of: number) { rows[member]?.step = .changeWithFirst }
            case .settle(let number, let outcome, let joined, let group):
                sawSettle(number, outcome, joined: joined, group)
            case .endWait(let number): sawSettle(number, .confirmed, joined: [], [])
            case .probe(let origin):
                if !captive.contains(origin) { complain("\(origin): probed by the queue") }
            }
        }
    }

    private mutating func sawSend(
        _ number: ModifierNumber,
        with others: [ModifierNumber],
        _ now: Duration
    ) {
        guard let row = rows[number] else { return complain("\(number): sent, never accepted") }
        if !ready(now).contains(number) { complain("\(number): sent while it is not ready") }
        let expected = followers(of: number)
        if others != expected { complain("\(number): \(others) are joined to it, not \(expected)") }
        let origin = row.record.origin
        if underWay(origin) >= 8 { complain("\(number): more than eight at \(origin)") }
        switch reach(origin) {
        case .open(let from) where from <= now: break
        case .closed(nil):
            reaches[origin] = .closed(trial: number)
            if captive.contains(origin), !row.record.resends {
                complain("\(number): tried at a captive origin, and may not be sent twice")
            }
        case .open, .closed, .setOffline: complain("\(number): \(origin) is not to be asked")
        }
        if let expires = row.expires, expires <= now, mayExpire(row) {
            complain("\(number): sent after it expired")
        }
        switch rests[party(row)] {
        case .paused: rests[party(row)] = .trying(number)
        case .waking: rests[party(row)] = nil
        case .trying, nil: break
        }
        if doubts[party(row)] != nil { doubts[party(row)]?.trial = number }
        rows[number]?.step = .send
        rows[number]?.isAhead = true
        rows[number]?.wasUnknown = row.record.state == .unknown
        rows[number]?.hadLeft = row.record.mayHaveLeft
        join(others, to: number)
    }

    private mutating func sawSettle(
        _ number: ModifierNumber,
        _ outcome: Outcome,
        joined: [ModifierNumber],
        _ group: [ModifierNumber]
    ) {
        let (members, same) = (members(of: number), [number] + joined)
        if joined != members { complain("\(number): \(joined) settle with it, not \(members)") }
        for member in same { sawSettle(member, outcome, by: number, isSent: member == number) }
        let others = outcome == .confirmed ? [] : Set(same.flatMap { dependants(of: $0) })
        if group != others.sorted() {
            complain("\(number): \(group) leave with it, not \(others.sorted())")
        }
        for member in group { sawSettle(member, outcome.ofDependants, by: number, isSent: false) }
    }

    private mutating func sawSettle(
        _ member: ModifierNumber,
        _ outcome: Outcome,
        by leader: ModifierNumber,
        isSent: Bool
    ) {
        switch rows[member]?.step {
        case .send, .settle, .changeWithFirst, .parting: complain("\(member): settled in a step")
        case nil where rows[member]?.outcome != nil: complain("\(member): settled twice")
        case .attempt where !isSent: complain("\(member): settled in flight")
        case .attempt, .change, .edit, nil: break
        }
        let first = rows[member]?.joinedTo
        if first == leader {
            rows[member]?.joinedTo = nil
        } else if let first, rows[first]?.step != .parting {
            complain("\(member): settled without \(first), to which it is joined")
        }
        rows[member]?.step = .settle(outcome, leader: leader)
    }

    // MARK: After each event

    /// What must be the case once the machine has reacted.
    mutating func look(_ queue: ModifierQueue, _ now: Duration) {
        let wake = queue.nextWake
        let told = live.filter { rows[$0]?.isTold == true }
        if queue.count != told.count { complain("\(queue.count) in the queue, not \(told.count)") }
        for number in told {
            if queue.waitingFor(number) == nil { complain("\(number): waits for nothing") }
            guard let row = rows[number], row.step == nil else { continue }
            if let state = queue.state(of: number), state != row.record.state {
                complain("\(number): \(state), not \(row.record.state)")
            }
            look(row, wake, now)
        }
        for (party, rest) in rests where isTold(party) {
            switch rest {
            case .paused(let end) where end > now, .waking(let end) where end > now:
                if wake.map({ $0 > end }) ?? true { complain("\(party): its rest has no end") }
            case .paused, .waking, .trying: break
            }
        }
        var seen: Set<OriginName> = []
        for number in ready(now) {
            guard let origin = rows[number]?.record.origin, seen.insert(origin).inserted else {
                continue
            }
            look(origin, with: number, wake, now)
        }
    }

    /// What must be the case at an origin where somebody is ready.
    private mutating func look(
        _ origin: OriginName,
        with first: ModifierNumber,
        _ wake: Duration?,
        _ now: Duration
    ) {
        guard underWay(origin) < 8 else { return }
        switch reach(origin) {
        case .open(let from) where from <= now:
            complain("\(first): ready, and not sent")
        case .open(let from):
            if wake.map({ $0 > from }) ?? true { complain("\(first): \(origin) is not woken") }
        case .closed(nil):
            if wake.map({ $0 > now + .seconds(30) }) ?? true {
                complain("\(first): \(origin) is not tried again")
            }
        case .closed, .setOffline: break
        }
    }

    /// What must be the case with one that is left alone.
    private mutating func look(_ row: Row, _ wake: Duration?, _ now: Duration) {
        let number = row.record.number
        var ends: [Duration] = []
        if let expires = row.expires, mayExpire(row) { ends.append(expires) }
        switch row.record.state {
        case .held, .accepted: if let until = row.until { ends.append(until) }
        case .retryWait, .unknown:
            // From then on it is ready, or not, as its lanes are.
            if let until = row.until, until > now { ends.append(until) }
        case .queued, .inFlight, .confirmed, .authWait, .conflict, .failed, .cancelled: break
        }
        for end in ends {
            if end <= now { complain("\(number): \(row.record.state) has not ended") }
            if wake.map({ $0 > end }) ?? true { complain("\(number): its end will be missed") }
        }
    }

    private func mayExpire(_ row: Row) -> Bool {
        [.held, .queued, .retryWait].contains(row.record.state) && !row.record.mayHaveLeft
            && !row.record.isPerhapsApplied && row.joinedTo == nil
    }
}
