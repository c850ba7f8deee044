package import LarderModel

extension ModifierQueue {
    /// The daemon has started and read the unsettled modifiers from its file.
    ///
    /// - `failed`: the dead letters that the records depend on.
    /// - `paused`: the lanes that an operator paused.
    /// - `acceptedLimit`: how long a 202 of an origin is shown.
    /// - `retryAfterEnd`: until when an origin has told an account to wait, if it has.
    ///
    /// An account with a row in `auth_wait` waits for ``credentialChanged(at:of:now:)``. A row in
    /// `in_flight` becomes `unknown`, as the end of its attempt is lost, or fails if that was its
    /// last attempt. A conflict ends if the origin's rule, as it is now, ends it. A stored moment
    /// counts only within the longest possible wait, as the clock may have been wrong.
    package mutating func restored(
        _ records: [ModifierRecord],
        failed: Set<ModifierNumber> = [],
        paused: [(scope: Scope, lane: Lane)] = [],
        acceptedLimit: (OriginName) -> Duration,
        now: Duration,
        wall: Timestamp,
        retryAfterEnd: (OriginName, Scope) -> Duration? = { _, _ in nil }
    ) -> [Action] {
        var actions: [Action] = []
        for (scope, lane) in paused { pause(lane, of: scope) }
        let clock = Clock(now: now, wall: wall)
        for record in records {
            enter(record, clock, acceptedLimit(record.origin), retryAfterEnd)
        }
        for record in records where record.state == .inFlight {
            attemptLost(record.number, now, &actions)
        }
        for record in records where record.dependsOn.contains(where: failed.contains) {
            settleOrphan(record.number, &actions)
        }
        for record in records where record.endsConflict { endConflict(record.number, &actions) }
        return finish(actions, now)
    }

    /// Modifiers were accepted and are on the disk.
    ///
    /// The shell tells them in the order of their numbers; a known number changes nothing.
    /// `retryAfterEnd` says until when an origin has told an account to wait, if it has.
    package mutating func accepted(
        _ records: [ModifierRecord],
        now: Duration,
        wall: Timestamp,
        retryAfterEnd: (OriginName, Scope) -> Duration? = { _, _ in nil }
    ) -> [Action] {
        var actions: [Action] = []
        let clock = Clock(now: now, wall: wall)
        for record in records {
            enter(record, clock, .zero, retryAfterEnd)
        }
        for record in records where record.dependsOn.contains(where: lateFailures.contains) {
            settleOrphan(record.number, &actions)
        }
        return finish(actions, now)
    }

    /// The same moment on both clocks.
    private struct Clock {
        let now: Duration
        let wall: Timestamp

        /// A stored moment on the monotonic clock, at most `cap` away.
        func monotonic(_ moment: Timestamp, cap: Duration) -> Duration {
            now + min(max(moment.since(wall), .zero), cap)
        }
    }

    /// Adds a modifier; the first one of an account that an origin told to wait waits, too.
    private mutating func enter(
        _ record: ModifierRecord,
        _ clock: Clock,
        _ acceptedLimit: Duration,
        _ retryAfterEnd: (OriginName, Scope) -> Duration?
    ) {
        guard slots[record.number] == nil,
            let state = entryState(record, clock, acceptedLimit)
        else { return }
        let owner = owners.use(record.scope).slot
        let (account, isNew) = use(
            OriginAccountKey(owner: owner, origin: originSlot(record.origin))
        )
        // A stored pause may be a Retry-After, so it counts as one.
        let floor = if case .waiting(.retryWait(let end)) = state { end } else { Duration.zero }
        let node = Node(
            number: record.number,
            account: account,
            attempts: Int32(clamping: record.attempts),
            attemptsMax: record.attemptsMax.map { Int32(clamping: $0) } ?? .max,
            answersNotApplied: Int32(clamping: record.answersNotApplied),
            state: state,
            expires: record.expiresAt.map {
                let duration = record.acceptedAt.map($0.since) ?? Limits.modifierLifetimeMax
                return clock.monotonic($0, cap: min(duration, Limits.modifierLifetimeMax))
            },
            resends: record.resends,
            mayLead: record.mayLead,
            mayFollow: record.mayFollow,
            holds: record.holds,
            mayHaveLeft: record.mayHaveLeft || record.attempts > 0,
            hadLeft: record.mayHaveLeft || record.attempts > 0,
            isPerhapsApplied: record.isPerhapsApplied || record.state == .inFlight,
            isStalled: record.isStalled,
            floor: floor
        )
        let slot = place(node)
        if record.state != .accepted { enterLanes(slot, record.lanes, owner: owner) }
        depend(slot, on: record.dependsOn)
        if let first = record.joinedInto, slots[first] != nil { join([record.number], to: first) }
        if record.state == .authWait {
            accounts[Int(account)].refused.insert(record.number)
            setAccess(account, .doubt(refusals: Limits.credentialRefusalsMax, probe: nil))
        }
        refresh(slot)
        if isNew, let end = retryAfterEnd(record.origin, record.scope) { rest(account, until: end) }
    }

    /// The daemon ended during an attempt, which counts as one without a clear answer.
    private mutating func attemptLost(
        _ number: ModifierNumber,
        _ now: Duration,
        _ actions: inout [Action]
    ) {
        guard let slot = slots[number], !nodes[Int(slot)].isSettling else { return }
        let node = nodes[Int(slot)]
        if node.resends, node.attempts >= node.attemptsMax {
            settle(slot, .failed(.attempts), &actions)
        } else {
            change(slot, to: .unknown(until: node.resends ? now : nil), &actions)
        }
    }

    mutating func settleOrphan(_ number: ModifierNumber, _ actions: inout [Action]) {
        guard let slot = slots[number], !nodes[Int(slot)].isSettling else { return }
        settle(slot, .failed(.parentFailed), &actions)
    }

    /// Nil if the modifier has already settled.
    private func entryState(
        _ record: ModifierRecord,
        _ clock: Clock,
        _ acceptedLimit: Duration
    ) -> State? {
        let next = record.nextAttemptAt
        func due(cap: Duration) -> Duration {
            next.map { clock.monotonic($0, cap: cap) } ?? clock.now
        }
        switch record.state {
        case .held:
            guard let hold = record.holdUntil else { return .waiting(.held(until: clock.now)) }
            let duration = record.acceptedAt.map(hold.since) ?? Limits.modifierHoldMax
            let cap = min(duration, Limits.modifierHoldMax)
            return .waiting(.held(until: clock.monotonic(hold, cap: cap)))
        case .queued: return .waiting(.queued)
        case .inFlight: return .waiting(.unknown(until: nil))
        case .accepted where record.isAnswered: return .answered
        case .accepted: return .waiting(.accepted(until: due(cap: acceptedLimit)))
        case .retryWait:
            // A Retry-After or a backoff: both count from the origin's answer.
            let duration = record.answeredAt.flatMap { answered in next.map { $0.since(answered) } }
            let backoff = Self.pause(after: Int32(clamping: record.attempts), randomUnit: 1)
            let cap = min(duration ?? Limits.modifierRetryAfterMax, Limits.modifierRetryAfterMax)
            let end = due(cap: max(cap, duration == nil ? cap : backoff))
            return .waiting(.retryWait(until: end))
        case .unknown:
            // Without a next attempt a person decides, even if the modifier may be repeated.
            guard record.resends, next != nil else { return .waiting(.unknown(until: nil)) }
            let backoff = Self.pause(after: Int32(clamping: record.attempts), randomUnit: 1)
            return .waiting(.unknown(until: due(cap: backoff)))
        case .authWait: return .waiting(.authWait)
        case .conflict: return .waiting(.conflict)
        case .confirmed, .failed, .cancelled: return nil
        }
    }

    private mutating func place(_ node: Node) -> Int32 {
        let slot = freeSlots.popLast() ?? Int32(nodes.count)
        nodes.put(node, at: slot)
        slots[node.number] = slot
        return slot
    }

    private mutating func use(_ key: OriginAccountKey) -> (account: Int32, isNew: Bool) {
        let (account, isNew) = accountKeys.use(key)
        guard isNew else { return (account, false) }
        let userKey = OriginUserKey(uid: owners[key.owner].uid, origin: key.origin)
        let (user, isNewUser) = userKeys.use(userKey)
        // The account waits from now on, and so does a new user: those that wait already have the
        // turn first.
        if isNewUser { users.put(OriginUser(lastTurn: turns), at: user) }
        accounts.put(OriginAccount(user: user, lastTurn: turns), at: account)
        return (account, true)
    }

    func account(of scope: Scope, at origin: OriginName) -> Int32? {
        guard let owner = owners.slot(of: scope), let origin = originSlots[origin] else {
            return nil
        }
        return accountKeys.slot(of: OriginAccountKey(owner: owner, origin: origin))
    }
}
