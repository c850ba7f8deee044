import LarderModel
import LarderTestSupport

@testable import LarderStrategy

extension QueueWorld {
    /// One event of any kind.
    mutating func step() {
        switch roll(43) {
        case 0..<5: accept()
        case 5..<9: tell()
        case 9..<18: commit()
        case 18..<27: answer(random.pick(Self.verdicts))
        case 27..<32 where isPatient && roll(2) == 0: byHand()
        case 27..<32: pass()
        case 32: pauseOrResume()
        case 33: reachChanged()
        case 34: credentialChanged()
        case 35..<38: byHand()
        case 38 where joins && roll(2) == 0: byHand()
        case 38: shown()
        case 39: rest()
        case 40: settingsChanged()
        case 41: endEdit()
        case _: if roll(joins ? 3 : 6) == 0 { crash() }
        }
    }

    static let verdicts: [ModifierVerdict] = [
        .confirmed(.none), .confirmed(.none), .confirmed(.none), .confirmed(.none), .accepted,
        .notNow(retryAfter: nil), .notNow(retryAfter: .seconds(7)), .refused, .authNeeded,
        .notNow(retryAfter: .seconds(9), rest: .seconds(8)), .notNow(retryAfter: nil, rest: .zero),
        .unclear(.gateway), .unclear(.lost), .captive, .neverLeft, .neverLeft, .noCredential,
        .unclear(.refusedRepeat), .serverFailed(retryAfter: nil),
        .conflict(.wait), .conflict(.again), .conflict(.fail),
        .serverFailed(retryAfter: .seconds(5)),
    ]

    /// Some request has come to its end.
    mutating func answer(_ drawn: ModifierVerdict) {
        guard !requests.isEmpty else { return }
        let number = requests.remove(at: Int(roll(UInt64(requests.count))))
        guard let row = judge.rows[number] else { return }
        let isPutOff = isPatient && !judge.members(of: number).isEmpty && roll(2) == 0
        let verdict = reply(isPutOff ? .notNow(retryAfter: .seconds(7)) : drawn, to: number)
        log?.append("\(number) ends: \(verdict)")
        let randomUnit = randomUnit()
        var meant = verdict
        if row.isOutdated, case .notNow = verdict { meant = .notNow(retryAfter: nil) }
        if row.isOutdated, case .serverFailed = verdict { meant = .serverFailed(retryAfter: nil) }
        note(meant, of: row, randomUnit)
        let actions = queue.attemptEnded(
            number,
            verdict,
            rules: rules,
            randomUnit: randomUnit,
            now: now
        )
        let own = actions.first { action in
            switch action {
            case .changeState(number, _), .settle(number, _, _, _): true
            case .changeState, .settle, .send, .commitSend, .endWait, .probe: false
            }
        }
        let expected = expected(meant, of: row, randomUnit)
        if !Self.fits(own, expected) {
            judge.complain("\(number): \(verdict) led to \(String(describing: own))")
        }
        did(actions)
    }

    private static func fits(_ action: Action?, _ expected: Expected) -> Bool {
        switch (action, expected) {
        case (.settle(_, let outcome, _, _), .settle(let meant)): outcome == meant
        case (.changeState(_, let change), .change(let meant)): change == meant
        case (_, _): false
        }
    }

    enum Expected {
        case settle(ModifierQueue.Outcome)
        case change(ModifierQueue.Change)
    }

    /// What the cases say of a verdict.
    private func expected(
        _ verdict: ModifierVerdict,
        of row: QueueJudge.Row,
        _ randomUnit: Double
    ) -> Expected {
        let attempts = row.record.attempts
        var notApplied = row.record.answersNotApplied
        let isDenied =
            switch verdict {
            case .neverLeft, .captive, .authNeeded, .noCredential, .conflict: true
            case .notNow(_, _, let isSure): isSure
            case .confirmed, .accepted, .serverFailed, .refused, .unclear: false
            }
        let isPerhapsApplied = row.record.isPerhapsApplied || !isDenied
        func change(_ state: ModifierState, _ until: Duration?, attempts: Int) -> Expected {
            .change(
                ModifierQueue.Change(
                    state: state,
                    until: until,
                    attempts: attempts,
                    answersNotApplied: notApplied,
                    isStalled: notApplied >= rules.stalledAfter,
                    isPerhapsApplied: isPerhapsApplied,
                    round: verdict == .conflict(.again) ? .next : .same
                )
            )
        }
        let ceiling = Self.ceiling(after: attempts)
        let isLast = row.record.attemptsMax.map { attempts >= $0 } ?? false
        switch verdict {
        case .confirmed: return .settle(.confirmed)
        case .accepted: return change(.accepted, now + rules.acceptedLimit, attempts: attempts)
        case .refused: return .settle(.failed(.refused))
        case .conflict(.fail): return .settle(.failed(.conflict))
        case .conflict(.look), .conflict(.wait): return change(.conflict, nil, attempts: attempts)
        case .conflict(.again):
            return isLast ? .settle(.failed(.attempts)) : change(.queued, nil, attempts: attempts)
        case .serverFailed where goesToAPerson(verdict, row):
            notApplied += 1
            return .change(
                ModifierQueue.Change(
                    state: .unknown,
                    until: nil,
                    attempts: attempts,
                    answersNotApplied: notApplied,
                    isStalled: row.record.isStalled,
                    isPerhapsApplied: true
                )
            )
        case .notNow(let asked, _, _), .serverFailed(let asked):
            notApplied += 1
            guard !isLast else { return .settle(.failed(.attempts)) }
            let pause = max(asked ?? .zero, .milliseconds(500), ceiling * randomUnit)
            return change(.retryWait, now + pause, attempts: attempts)
        case .authNeeded, .noCredential:
            let isPresent = !row.isOutdated && !row.isUnderEarlier
            return change(isPresent ? .authWait : .queued, nil, attempts: attempts - 1)
        case .unclear(.refusedRepeat): return change(.unknown, nil, attempts: attempts)
        case .unclear:
            guard row.record.resends else { return change(.unknown, nil, attempts: attempts) }
            guard !isLast else { return .settle(.failed(.attempts)) }
            let pause = max(.milliseconds(500), ceiling * randomUnit)
            return change(.unknown, now + pause, attempts: attempts)
        case .neverLeft, .captive:
            return row.wasUnknown
                ? change(.unknown, now, attempts: attempts - 1)
                : change(.queued, nil, attempts: attempts - 1)
        }
    }

    private static func ceiling(after attempts: Int) -> Duration {
        (1..<max(attempts, 1)).reduce(.seconds(1)) { ceiling, _ in min(ceiling * 2, .seconds(300)) }
    }

    /// 10: what must not be repeated is not repeated without end after a 500, nor given up.
    private func goesToAPerson(_ verdict: ModifierVerdict, _ row: QueueJudge.Row) -> Bool {
        guard case .serverFailed = verdict else { return verdict == .unclear(.refusedRepeat) }
        let isSpent = row.record.attemptsMax.map { row.record.attempts >= $0 } ?? false
        return row.record.holds
            || !row.record.resends && (isSpent || row.record.answersNotApplied >= 4)
    }

    private mutating func note(
        _ verdict: ModifierVerdict,
        of row: QueueJudge.Row,
        _ randomUnit: Double
    ) {
        let (number, origin) = (row.record.number, row.record.origin)
        let wasTrial = judge.reach(origin) == .closed(trial: number)
        switch verdict {
        case .confirmed, .accepted, .notNow, .serverFailed, .refused, .conflict, .unclear(.gateway),
            .unclear(.refusedRepeat):
            reached(origin, randomUnit)
        case .authNeeded: reached(origin, randomUnit)
        case .noCredential:
            if wasTrial { judge.reaches[origin] = .closed(trial: nil) }
            judge.rows[number]?.record.mayHaveLeft = row.hadLeft
        case .unclear(.lost): if wasTrial { judge.reaches[origin] = .closed(trial: nil) }
        case .captive, .neverLeft:
            wentDown(origin, wasTrial: wasTrial, isCaptive: verdict == .captive)
            judge.rows[number]?.record.mayHaveLeft = row.hadLeft
        }
        if case .conflict = verdict { partAnswered(number, by: .conflict) }
        if judge.rows[number]?.record.mayHaveLeft == false { partAnswered(number, by: .neverLeft) }
        _ = judge.noteAccess(verdict, of: row)
        if verdict == .unclear(.lost), wasTrial { judge.failing[origin] = 2 }
        noteBackoff(verdict, of: row, randomUnit)
    }

    /// What an end means for the pauses of others, and for the rest of its account.
    private mutating func noteBackoff(
        _ verdict: ModifierVerdict,
        of row: QueueJudge.Row,
        _ randomUnit: Double
    ) {
        let (number, origin) = (row.record.number, row.record.origin)
        let wake = now + .seconds(1) * randomUnit
        var rest = QueueJudge.Rest.waking(from: wake)
        switch verdict {
        case .noCredential: rest = .paused(until: now)
        case .confirmed, .accepted, .refused, .conflict, .authNeeded:
            judge.succeeded(at: origin, wake: wake, now)
        case .notNow, .serverFailed, .unclear, .captive:
            switch verdict {
            case _ where goesToAPerson(verdict, row): break
            case .notNow(let asked, _, _), .serverFailed(let asked):
                judge.rows[number]?.floor = asked.map { now + $0 } ?? .zero
            case .unclear where row.record.resends: judge.rows[number]?.floor = .zero
            case _: break
            }
            var ceiling = Duration.seconds(1)
            for _ in 1..<max(row.record.attempts, 1) { ceiling = min(ceiling * 2, .seconds(300)) }
            rest = .paused(until: now + max(.milliseconds(500), ceiling * randomUnit))
            judge.failing[origin] = min(judge.failing[origin, default: 0] + 1, 2)
        case .neverLeft:
            rest = .paused(until: now)
        }
        let party = judge.party(row)
        if case .notNow(_, let time?, _) = verdict {
            // A rest without a time of the origin is short, and only the machine knows of it.
            if time > .zero { restEnds[party] = max(restEnds[party] ?? .zero, now + time) }
            let short = max(.milliseconds(500), Duration.seconds(1) * randomUnit)
            return judge.told(party, until: now + (time > .zero ? time : short))
        }
        guard judge.rests[party] == .trying(number) else { return }
        judge.rests[party] = rest
    }

    private mutating func reached(_ origin: OriginName, _ randomUnit: Double) {
        guard case .closed = judge.reach(origin) else { return }
        judge.reaches[origin] = .open(from: now + .seconds(1) * randomUnit)
    }

    /// The origin has answered another request.
    mutating func answered(_ origin: OriginName) {
        let randomUnit = randomUnit()
        reached(origin, randomUnit)
        judge.succeeded(at: origin, wake: now + .seconds(1) * randomUnit, now)
        did(queue.originAnswered(origin, randomUnit: randomUnit, now: now))
    }

    private mutating func wentDown(_ origin: OriginName, wasTrial: Bool, isCaptive: Bool) {
        judge.failing[origin] = 2
        if judge.reach(origin) != .setOffline {
            if isCaptive { judge.captive.insert(origin) } else { judge.captive.remove(origin) }
        }
        switch judge.reach(origin) {
        case .open: judge.reaches[origin] = .closed(trial: nil)
        case .closed: if wasTrial { judge.reaches[origin] = .closed(trial: nil) }
        case .setOffline: break
        }
    }

    // MARK: From outside

    private mutating func pass() {
        if let wake = queue.nextWake, roll(3) > 0 {
            elapse(max(wake - now, .zero))
        } else {
            elapse(.milliseconds(Int64(roll(5_000))))
        }
    }

    /// Both clocks go on.
    mutating func elapse(_ time: Duration) {
        now += time
        wall = wall.advanced(by: time)
        did(queue.timePassed(now: now))
    }

    private mutating func pauseOrResume() {
        let (scope, lane) = (random.pick(scopes), random.pick(lanes))
        if judge.pausedLanes & bit(lane, scope) != 0 || roll(3) == 0 {
            resume(lane, scope)
        } else {
            judge.pausedLanes |= bit(lane, scope)
            notePause(of: bit(lane, scope))
            did(queue.lanePaused(lane, of: scope, now: now))
        }
    }

    private mutating func resume(_ lane: Lane, _ scope: Scope) {
        judge.pausedLanes &= ~bit(lane, scope)
        did(queue.laneResumed(lane, of: scope, now: now))
    }

    private mutating func reachChanged() {
        let origin = random.pick(origins)
        let randomUnit = randomUnit()
        switch roll(6) {
        case 0, 1: answered(origin)
        case 2:
            let isCaptive = roll(2) == 0
            wentDown(origin, wasTrial: false, isCaptive: isCaptive)
            did(
                queue.originWentDown(origin, isCaptive: isCaptive, randomUnit: randomUnit, now: now)
            )
        case 3:
            judge.reaches[origin] = .setOffline
            judge.captive.remove(origin)
            did(queue.originSetOffline(origin, now: now))
        case _: wake(origin)
        }
    }

    mutating func wake(_ origin: OriginName) {
        if judge.reach(origin) == .setOffline { judge.reaches[origin] = .closed(trial: nil) }
        judge.pausesEnded(at: origin, isAskedTimeOver: false, now)
        did(queue.originWoken(origin, now: now))
    }

    private mutating func settingsChanged() {
        let origin = random.pick(origins)
        restEnds = restEnds.filter { $0.key.origin != origin }
        judge.settingsChanged(at: origin, now)
        did(queue.originChanged(origin, records: changedRules(at: origin), now: now))
    }

    private mutating func credentialChanged() {
        let origin = random.pick(origins)
        let scope = roll(2) == 0 ? nil : random.pick(scopes)
        for party in judge.parties(at: origin) where scope == nil || party.scope == scope {
            judge.credentialChanged(party)
        }
        did(queue.credentialChanged(at: origin, of: scope, now: now))
    }

    private mutating func shown() {
        let accepted = judge.unsettled.filter { $0.record.state == .accepted && $0.step == nil }
        guard let row = accepted.min(by: { $0.record.number < $1.record.number }) else { return }
        did(queue.readConfirmed(row.record.number, now: now))
    }

    private mutating func byHand() {
        guard lastNumber > 0 else { return }
        let number = drawNumber()
        let row = judge.rows[number]
        guard row?.isTold == true || row?.outcome != nil else { return }
        switch roll(4) {
        case 0: cancel(number, withDependants: roll(2) == 0)
        case 1: if roll(2) == 0 { discard(number) }
        case 2: edit(number)
        case _: retry(number)
        }
    }

    private func refusal(_ number: ModifierNumber) -> ModifierQueue.Refusal? {
        guard let row = judge.rows[number], row.outcome == nil else { return .notFound }
        switch row.step {
        case nil: return nil
        case .send, .attempt: return .inFlight
        case .change, .changeWithFirst, .settle, .edit, .parting: return .notNow
        }
    }

    private mutating func cancel(_ number: ModifierNumber, withDependants: Bool) {
        var expected = refusal(number)
        let others = judge.dependants(of: number)
        if expected == nil, judge.rows[number]?.record.isPerhapsApplied == true {
            expected = .alreadySent
        }
        if expected == nil, !others.isEmpty, !withDependants { expected = .hasDependants(others) }
        if expected == nil { expected = beginParting(of: number) }
        if expected == nil { partCancelled(number) }
        attempt(number, expected) { queue, now throws(ModifierQueue.Refusal) in
            try queue.cancelAsked(number, withDependants: withDependants, now: now)
        }
    }

    private mutating func edit(_ number: ModifierNumber) {
        var expected = refusal(number)
        if expected == nil, judge.rows[number]?.record.isPerhapsApplied == true {
            expected = .alreadySent
        }
        if expected == nil { expected = beginParting(of: number) }
        if expected == nil {
            judge.rows[number]?.step = .edit
            edits.append(number)
        }
        attempt(number, expected) { queue, now throws(ModifierQueue.Refusal) in
            try queue.editAsked(number, now: now)
        }
    }

    /// Some edit is on the disk, or has failed.
    mutating func endEdit() {
        guard !edits.isEmpty else { return }
        let number = edits.remove(at: Int(roll(UInt64(edits.count))))
        guard var record = judge.rows[number]?.record else { return }
        let isMeant = judge.rows[number]?.step == .edit
        let isWritten = isMeant && roll(4) > 0
        if isMeant {
            judge.rows[number]?.step = nil
            endParting(of: number, isWritten: isWritten)
        }
        if isWritten {
            record.joinedInto = nil
            drawJoining(&record)
            record.lanes = (0..<roll(4)).map { _ in random.pick(lanes) }
            record.resends = roll(2) == 0
            depend(&record)
            judge.rows[number]?.record = record
            let (places, passes) = (bits(of: record), judge.settlingAhead)
            judge.rows[number]?.passes = passes
            judge.rows[number]?.lanes = places
        }
        log?.append("edited: \(isWritten ? "\(record)" : "no")")
        did(queue.editEnded(number, isWritten ? record : nil, now: now))
    }

    mutating func discard(_ number: ModifierNumber) {
        var expected = refusal(number)
        let first = judge.rows[number]?.joinedTo ?? number
        if expected == nil {
            if judge.rows[first]?.record.isPerhapsApplied == true {
                expected = refusal(first)
            } else {
                expected = beginParting(of: number)
                if expected == nil { partCancelled(number) }
            }
        }
        attempt(number, expected) { queue, now throws(ModifierQueue.Refusal) in
            try queue.discardAsked(number, now: now)
        }
    }

    private mutating func retry(_ asked: ModifierNumber) {
        let number = judge.rows[asked]?.joinedTo ?? asked
        var expected = refusal(number)
        let states: [ModifierState] = [.retryWait, .unknown, .authWait, .conflict]
        if expected == nil, let row = judge.rows[number] {
            if !states.contains(row.record.state) { expected = .nothingToRetry }
            if expected == nil, row.record.state == .authWait {
                judge.credentialChanged(judge.party(row), isOther: false)
            }
            if expected == nil, judge.rests[judge.party(row)]?.hasEnd == true {
                judge.rests[judge.party(row)] = .paused(until: now)
            }
        }
        attempt(number, expected) { queue, now throws(ModifierQueue.Refusal) in
            try queue.retryAsked(asked, now: now)
        }
    }

    private mutating func attempt(
        _ number: ModifierNumber,
        _ expected: ModifierQueue.Refusal?,
        _ body: (inout ModifierQueue, Duration) throws(ModifierQueue.Refusal) -> [Action]
    ) {
        do throws(ModifierQueue.Refusal) {
            let actions = try body(&queue, now)
            if let expected { judge.complain("\(number): not refused with \(expected)") }
            did(actions)
        } catch {
            if error != expected {
                judge.complain("\(number): \(error), not \(String(describing: expected))")
            }
            did([])
        }
    }

    // MARK: The end

    /// Everything answers and nobody interferes: all is settled after a bounded number of events.
    mutating func settleAll() {
        tell()
        for (scope, lane) in pausedLanes { resume(lane, scope) }
        for origin in origins { wake(origin) }
        for origin in origins {
            for party in judge.parties(at: origin) { judge.credentialChanged(party) }
            did(queue.credentialChanged(at: origin, of: nil, now: now))
        }
        for _ in 0..<10_000 where judge.complaints.isEmpty {
            if !edits.isEmpty {
                endEdit()
            } else if !steps.isEmpty {
                commit()
            } else if !requests.isEmpty {
                answer(.confirmed(.none))
            } else if let row = judge.unsettled.first(where: { $0.waitsForAPerson }) {
                discard(row.record.number)
            } else if let wake = queue.nextWake, !judge.unsettled.isEmpty {
                elapse(max(wake - now, .zero))
            } else {
                break
            }
        }
        for row in judge.unsettled where judge.complaints.isEmpty {
            judge.complain("\(row.record.number): never settled, \(row.record.state)")
        }
        if queue.count != 0 { judge.complain("\(queue.count) are left in the queue") }
    }
}

extension QueueJudge.Row {
    fileprivate var waitsForAPerson: Bool {
        step == nil && (record.state == .unknown && until == nil || record.state == .conflict)
    }
}

extension QueueJudge.Rest {
    fileprivate var hasEnd: Bool {
        switch self {
        case .paused, .waking: true
        case .trying: false
        }
    }
}
