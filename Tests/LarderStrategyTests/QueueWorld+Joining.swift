import LarderModel
import LarderTestSupport

@testable import LarderStrategy

/// Ways that a group of modifiers goes, with one request for all (case 17).
enum GroupEvent: CaseIterable {
    case joined, joinedFewer, joinedNone, full, needless
    case sentAgain, takenApartAtSend, stopped, neverLeft, conflict
    case paused, cancelledMember, cancelledFirst, editedMember, editedFirst, notEdited
    case accepted, confirmed, failed, failedWithDependants, restored
}

extension QueueWorld {
    // MARK: Accepting

    /// Accepts modifiers that follow each other on the same targets, sometimes very many of them.
    mutating func acceptAlike() {
        let (scope, origin) = (random.pick(scopes), random.pick(origins))
        let places = [random.pick(lanes)] + (roll(3) == 0 ? [random.pick(lanes)] : [])
        let isCrowd = roll(80) == 0
        for place in 0..<(isCrowd ? 105 + roll(20) : 1 + roll(5)) {
            lastNumber += 1
            let isAlike = isCrowd || roll(6) > 0
            var record = ModifierRecord(
                number: ModifierNumber(lastNumber),
                scope: scope,
                origin: origin,
                lanes: isAlike ? places : (0..<roll(4)).map { _ in random.pick(lanes) },
                resends: roll(4) > 0
            )
            (record.mayLead, record.mayFollow) = (isCrowd, isCrowd)
            if !isCrowd { vary(&record, after: place > 0 ? ModifierNumber(lastNumber - 1) : nil) }
            accept(record)
        }
    }

    private mutating func vary(_ record: inout ModifierRecord, after last: ModifierNumber?) {
        drawJoining(&record)
        record.holds = !record.resends && roll(3) == 0
        if roll(12) == 0 {
            record.state = .held
            record.holdUntil = wall.advanced(by: .seconds(Int64(roll(30))))
        }
        if roll(4) == 0 { record.expiresAt = wall.advanced(by: .seconds(Int64(roll(60)))) }
        if roll(8) == 0 { record.attemptsMax = Int(1 + roll(3)) }
        if roll(8) == 0 { depend(&record) }
        if let last, roll(5) == 0 { record.dependsOn.append(last) }
    }

    mutating func drawJoining(_ record: inout ModifierRecord) {
        guard joins else { return }
        (record.mayLead, record.mayFollow) = (roll(8) > 0, roll(8) > 0)
    }

    /// Says by the new rules of an origin which modifiers may be joined.
    mutating func changedRules(at origin: OriginName) -> [ModifierRecord] {
        guard joins else { return [] }
        var records: [ModifierRecord] = []
        for row in judge.unsettled where row.isTold && row.record.origin == origin {
            var record = row.record
            drawJoining(&record)
            judge.rows[record.number]?.record = record
            records.append(record)
        }
        return records
    }

    // MARK: The send step

    mutating func commitSend(
        _ step: Action,
        _ number: ModifierNumber,
        _ followers: [ModifierNumber]
    ) {
        let isPerhapsApplied = judge.rows[number]?.record.isPerhapsApplied ?? false
        switch roll(20) {
        case 0, 1: failSend(number)
        case 2 where !isPerhapsApplied: stopSend(number)
        case 3..<7 where !followers.isEmpty: sendNeedless(number, followers)
        case _:
            let joined = departing(number, followers)
            noteSend(number, followers, joined)
            apply(step, joined: joined)
            judge.regroup(joined, with: number)
            did(queue.sendCommitted(number, joined: joined, now: now))
        }
    }

    /// The modifiers whose changes the request of another one makes, as a store decides.
    mutating func departing(
        _ number: ModifierNumber,
        _ followers: [ModifierNumber]
    ) -> [ModifierNumber] {
        guard let row = judge.rows[number] else { return [] }
        guard row.record.mayHaveLeft else {
            return roll(4) == 0 ? prefix(of: followers, from: 0) : followers
        }
        // Where another device has changed what one of them changes, each is sent alone.
        return !row.record.isPerhapsApplied && roll(6) == 0 ? [] : judge.stored(with: number)
    }

    private mutating func prefix(
        of followers: [ModifierNumber],
        from least: Int
    ) -> [ModifierNumber] {
        guard followers.count >= least else { return followers }
        return Array(followers.prefix(least + Int(roll(UInt64(followers.count - least + 1)))))
    }

    private mutating func noteSend(
        _ number: ModifierNumber,
        _ followers: [ModifierNumber],
        _ joined: [ModifierNumber]
    ) {
        let stored = judge.stored(with: number)
        switch (followers.count, joined.count) {
        case (0, 0): if !stored.isEmpty { groupEvents.insert(.takenApartAtSend) }
        case (0, _): groupEvents.insert(.sentAgain)
        case (_, 0): groupEvents.insert(.joinedNone)
        case (let all, let some): groupEvents.insert(some < all ? .joinedFewer : .joined)
        }
        if joined.count == Limits.joinedModifiersMax - 1 { groupEvents.insert(.full) }
    }

    /// Another device's change is found before the send step.
    private mutating func stopSend(_ number: ModifierNumber) {
        if !judge.members(of: number).isEmpty { groupEvents.insert(.stopped) }
        leaveSend(number, until: now)
        judge.part(number)
        let isFinal = roll(3) == 0
        let actions = queue.sendConflicted(number, isFinal ? .fail : .wait, now: now)
        let isMeant = actions.contains { action in
            switch action {
            case .settle(number, .failed(.conflict), _, _): isFinal
            case .changeState(number, let change): !isFinal && change.state == .conflict
            case .changeState, .settle, .send, .commitSend, .endWait, .probe: false
            }
        }
        if !isMeant { judge.complain("\(number): stopped, and \(actions)") }
        did(actions)
    }

    /// The changes of a group cancel out.
    private mutating func sendNeedless(
        _ number: ModifierNumber,
        _ followers: [ModifierNumber]
    ) {
        groupEvents.insert(.needless)
        let joined = prefix(of: followers, from: 1)
        leaveSend(number, until: now)
        judge.regroup(joined, with: number)
        let actions = queue.sendNeedless(number, joined: joined, now: now)
        let isMeant = actions.contains { action in
            if case .settle(number, .cancelled, _, _) = action { true } else { false }
        }
        if !isMeant { judge.complain("\(number): needless, and \(actions)") }
        did(actions)
    }

    // MARK: The store

    /// Writes down which modifiers are joined to one that is sent.
    mutating func store(_ joined: [ModifierNumber], with first: ModifierNumber) {
        guard judge.stored(with: first) != joined else { return }
        partStored(first)
        for member in joined {
            if let other = judge.rows[member]?.record.joinedInto {
                judge.complain("\(member): joined to \(first), and still to \(other)")
            }
            judge.rows[member]?.record.joinedInto = first
        }
    }

    /// Has each modifier of a group be sent alone; the request of the first is another one then.
    private mutating func partStored(_ first: ModifierNumber) {
        let members = judge.stored(with: first)
        guard !members.isEmpty else { return }
        for member in members { judge.rows[member]?.record.joinedInto = nil }
        if judge.rows[first]?.record.mayHaveLeft == true { judge.rows[first]?.round += 1 }
    }

    /// Writes down what a change of the first means for those that are joined to it.
    mutating func storeChange(_ first: ModifierNumber, _ change: ModifierQueue.Change) {
        let hasLeft = judge.rows[first]?.record.mayHaveLeft == true || change.attempts > 0
        if change.round != .same { judge.rows[first]?.round += 1 }
        if !hasLeft || change.round != .same || change.state == .conflict { partStored(first) }
        guard change.state == .accepted, let row = judge.rows[first] else { return }
        for member in judge.stored(with: first) {
            groupEvents.insert(.accepted)
            judge.rows[member]?.record.state = .accepted
            judge.rows[member]?.record.joinedInto = nil
            judge.rows[member]?.record.attempts = change.attempts
            judge.rows[member]?.record.isPerhapsApplied = true
            judge.rows[member]?.record.nextAttemptAt = row.record.nextAttemptAt
            judge.rows[member]?.until = row.until
            judge.rows[member]?.joinedTo = nil
            judge.rows[member]?.step = nil
        }
    }

    /// Has modifiers leave the queue; a group of which not all leave is taken apart.
    mutating func leave(
        _ same: [ModifierNumber],
        _ outcome: ModifierQueue.Outcome,
        dependants: [ModifierNumber]
    ) {
        let leaving = same + dependants
        for number in leaving {
            guard let row = judge.rows[number] else { continue }
            let first = row.record.joinedInto ?? number
            if !([first] + judge.stored(with: first)).allSatisfy(leaving.contains) {
                partStored(first)
            }
            guard let first = row.joinedTo, !leaving.contains(first) else { continue }
            judge.part(first)
            judge.rows[first]?.step = nil
        }
        if same.count > 1 {
            let isWithDependants = !dependants.isEmpty
            let failure: GroupEvent = isWithDependants ? .failedWithDependants : .failed
            groupEvents.insert(outcome == .confirmed ? .confirmed : failure)
        }
        for number in same { settled(number, outcome) }
        for number in dependants { settled(number, outcome.ofDependants) }
    }

    private mutating func settled(_ number: ModifierNumber, _ outcome: ModifierQueue.Outcome) {
        ledger.settled(number, outcome)
        judge.settled(number, outcome)
    }

    /// Confirmed, each of a group is told to have settled; otherwise all of them leave at the first.
    mutating func commitSettle(
        _ step: Action,
        _ group: [ModifierNumber],
        _ outcome: ModifierQueue.Outcome
    ) {
        guard outcome == .confirmed else {
            apply(step)
            did(queue.settleCommitted(group[0], now: now))
            for member in group.dropFirst() {
                let actions = queue.settleCommitted(member, now: now)
                if !actions.isEmpty { judge.complain("\(member): \(actions) after the first left") }
            }
            return
        }
        for member in group { judge.rows[member]?.record.joinedInto = nil }
        groupEvents.insert(.confirmed)
        for member in group {
            settled(member, outcome)
            did(queue.settleCommitted(member, now: now))
        }
    }

    // MARK: Answers

    /// Notes what the origin does with a request; the verdict on its answer, which knows that.
    mutating func reply(
        _ drawn: ModifierVerdict,
        to number: ModifierNumber
    ) -> ModifierVerdict {
        let key = key(of: number)
        var (verdict, isDone) = (drawn, false)
        switch drawn {
        case .refused, .conflict:
            guard ledger.isDone(key) else { break }
            (verdict, isDone) = (.confirmed(.none), true)
        case .confirmed, .accepted: isDone = true
        case .serverFailed, .unclear(.gateway), .unclear(.lost): isDone = roll(2) == 0
        case .authNeeded, .unclear(.refusedRepeat): break
        case .notNow(_, _, let isSure): isDone = !isSure && roll(2) == 0
        case .neverLeft, .captive, .noCredential: return drawn
        }
        ledger.left(key, [number] + judge.stored(with: number), isDone: isDone)
        return verdict
    }

    /// The daemon is killed while a request is in flight.
    mutating func lose(_ number: ModifierNumber) {
        let isDone = roll(2) == 0
        ledger.left(key(of: number), [number] + judge.stored(with: number), isDone: isDone)
    }

    private func key(of number: ModifierNumber) -> QueueLedger.Key {
        QueueLedger.Key(first: number, round: judge.rows[number]?.round ?? 0)
    }

    mutating func partAnswered(_ first: ModifierNumber, by event: GroupEvent) {
        let members = judge.members(of: first)
        if !members.isEmpty { groupEvents.insert(event) }
        // Earlier requests have made their changes, too.
        if judge.rows[first]?.record.isPerhapsApplied == true {
            for member in members { judge.rows[member]?.record.isPerhapsApplied = true }
        }
        judge.part(first, isDenied: true)
    }

    // MARK: People

    /// A modifier about which a person decides: often one of a group.
    mutating func drawNumber() -> ModifierNumber {
        let members = judge.unsettled.filter { $0.joinedTo != nil }
        guard !members.isEmpty, roll(4) > 0 else {
            return ModifierNumber(1 + Int64(roll(UInt64(lastNumber))))
        }
        let row = random.pick(members)
        return row.joinedTo.flatMap { roll(3) == 0 ? $0 : nil } ?? row.record.number
    }

    mutating func notePause(of lane: UInt64) {
        let isGroups = judge.unsettled.contains { $0.joinedTo != nil && $0.lanes & lane != 0 }
        if isGroups { groupEvents.insert(.paused) }
    }

    /// Has the first of a modifier's group wait for a step that takes the group apart; a refusal.
    mutating func beginParting(of number: ModifierNumber) -> ModifierQueue.Refusal? {
        guard let first = judge.rows[number]?.joinedTo, let row = judge.rows[first] else {
            return nil
        }
        switch row.step {
        case .attempt: return .inFlight
        case .send, .change, .changeWithFirst, .edit, .parting, .settle: return .notNow
        case nil:
            guard !row.record.isPerhapsApplied else { return .alreadySent }
            judge.rows[first]?.step = .parting
            return nil
        }
    }

    /// A modifier is to be cancelled, and is taken out of its group with that.
    mutating func partCancelled(_ number: ModifierNumber) {
        if judge.rows[number]?.joinedTo != nil { groupEvents.insert(.cancelledMember) }
        if !judge.members(of: number).isEmpty { groupEvents.insert(.cancelledFirst) }
        judge.part(number)
    }

    /// An edit has ended; written, it takes the group apart.
    mutating func endParting(of number: ModifierNumber, isWritten: Bool) {
        let first = judge.rows[number]?.joinedTo ?? number
        let isGroup = !judge.members(of: first).isEmpty
        if first != number { judge.rows[first]?.step = nil }
        guard isWritten else {
            if isGroup { groupEvents.insert(.notEdited) }
            return
        }
        if isGroup { groupEvents.insert(first == number ? .editedFirst : .editedMember) }
        partStored(first)
        judge.part(first)
        if judge.rows[number]?.record.mayHaveLeft == true { judge.rows[number]?.round += 1 }
    }
}
