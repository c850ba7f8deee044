package import LarderModel

/// Decides when each modifier is sent and how it ends.
///
/// # Terms
///
/// - *lane*: modifiers that are sent in the order of their numbers. A lane belongs to one account
///   of one user; a modifier is in the lanes of its targets and in the named one.
/// - *account*: one account of one user at one origin, which is the holder of a credential there.
/// - *step*: a durable change, returned as an action. An event says that it is committed; until
///   then the queue begins nothing else with the modifier.
/// - *ready*: in a state to be sent, first in all its lanes, none of them paused, no dependency
///   left. A ready modifier is sent as soon as its account and its origin allow.
/// - *probe*: the one modifier that is sent to an origin that was down, or of a paused account.
/// - *paused*: the origin has told an account to wait, in answer to any request.
/// - *doubt*: the origin refused an account's credential, or the account has a new one that no answer
///   has confirmed yet.
/// - *outage*: the origin cannot be reached, or two attempts in a row ended without an effect.
/// - *group*: modifiers that are sent as one request; the others are *joined* to the first.
///
/// # States of a modifier
///
/// ```
///   held ──► queued ──► committingSend ──► inFlight ──► settling ──► (none)
///              ▲  ▲        ▲       ▲          │             ▲
///              │  └────────│───────│──────────┤ no byte left│
///              │           │       │          ├─► retryWait ┤
///              │           │       └──────────│──────┘      │
///              │           └── unknown ◄──────┤ no answer   │ discarded, expired,
///              ├────────────── authWait ◄─────┤ 401, 407;   │ or with a parent
///              │                              │ no credential
///              ├────────────── conflict ◄─────┤ 409, 412, 428
///   retried ───┴── unknown, …       └─► accepted ─┘
///
///   settling ──► answered ──► (none)    of a shared row, once an answer for that has come
/// ```
///
/// Between two states that a row can have, the modifier is in `changing` until the new one is
/// committed. It is also in `changing` while an edit is written.
///
/// # States of an origin
///
/// ```
///           no byte left, a portal            the time has come
///    open ──────────────────────────► down ◄──────────────────► halfOpen
///     ▲                                │      the probe failed      │
///     └────────── rampingUp ◄──────────┴─── it has answered ────────┘
/// ```
///
/// From each of these an operator can set it offline. From there it becomes `down`, and is tried
/// immediately.
///
/// # Retry-After of an account
///
/// ```
///          it has asked        the time has come, or an operator
///    open ──────────────► paused ──────────────────────────► due
///     ▲                    │   ▲ probe failed, or asks again  │ one is ready
///     └─────── rampingUp ◄─│───┴────────────────────────── halfOpen
///                  ▲       │       it has taken it            │
///                  └───────│──────────────────────────────────┘
/// ```
///
/// While an account is paused, another such answer can only move the end later. Only an operator
/// moves it nearer.
///
/// # Access of an account
///
/// ```
///          a refusal, or a new credential          three refusals in a row
///    open ────────────────────────────────► doubt ────────────────────────► doubt, stopped
///     ▲                                     │ ▲ ▲                                │
///     └── a success ────────────────────────┘ │ └── new credential, retry ───────┘
///                                             └── one modifier at a time
/// ```
///
/// # Invariants (``checkInvariants()``)
///
/// 1. A modifier is being sent only if no earlier one shares a lane, and it has no dependency
///    left. So each lane has one in flight at most.
/// 2. At most ``Limits/modifiersInFlightMax`` attempts are under way at an origin.
/// 3. Every ready modifier is in its account's `ready`. The account is in its user's `accounts`,
///    and the user in its origin's `users`, unless the account's access or Retry-After forbids to
///    send.
/// 4. Each state that ends after a time has its wake time.
/// 5. A step happens once: a modifier leaves only after its settle step, or once an answer has
///    settled it.
/// 6. A half-open account has one modifier under way that was sent since. A paused account sends
///    none.
/// 7. An account in doubt sends one modifier at a time, and none after
///    ``Limits/credentialRefusalsMax`` refusals in a row.
/// 8. A joined modifier waits in `queued` for the end of the first of its group.
package struct ModifierQueue: Sendable {
    /// The slot of each unsettled modifier's node.
    var slots: [ModifierNumber: Int32] = [:]
    var nodes: [Node] = []
    var freeSlots: [Int32] = []

    var owners = Interned<Scope>()
    var originSlots: [OriginName: Int32] = [:]
    /// The number of attempts begun so far.
    var turns: Int64 = 0
    var origins: [Origin] = []
    var accountKeys = Interned<OriginAccountKey>()
    var accounts: [OriginAccount] = []
    var userKeys = Interned<OriginUserKey>()
    var users: [OriginUser] = []
    var lanes = LaneTable()

    /// The unsettled modifiers that each modifier depends on.
    var dependencies: [ModifierNumber: [ModifierNumber]] = [:]
    var dependants: [ModifierNumber: Dependants] = [:]
    /// The modifiers that are joined to each first one of a group, and the first one of each.
    var joined: [ModifierNumber: [ModifierNumber]] = [:]
    var leaders: [ModifierNumber: ModifierNumber] = [:]
    /// The modifiers that leave in the same settle step as the key.
    var groups: [ModifierNumber: [ModifierNumber]] = [:]
    /// Modifiers that settled recently without being confirmed.
    ///
    /// A modifier that depends on them may have been accepted in the same moment.
    var lateFailures = LateFailures()

    var timers = SlotHeap<Duration>()
    var originTimers = SlotHeap<Duration>()
    var accountTimers = SlotHeap<Duration>()
    var timerPositions = SlotPositions()
    var readyPositions = SlotPositions()
    var accountPositions = SlotPositions()
    var userPositions = SlotPositions()
    var originTimerPositions = SlotPositions()
    var accountTimerPositions = SlotPositions()
    var touchedOrigins: [Int32] = []

    package init() {}

    /// The number of unsettled modifiers.
    package var count: Int { slots.count }

    /// When to call ``timePassed(now:)`` next; nil while no state ends without an event.
    package var nextWake: Duration? {
        [timers.first?.key, originTimers.first?.key, accountTimers.first?.key].compactMap { $0 }
            .min()
    }

    /// The time of ``nextWake`` has come; other times do no harm.
    package mutating func timePassed(now: Duration) -> [Action] { finish([], now) }

    /// Ends every event: does what is due, and sends what may be sent.
    ///
    /// `actions` are those of the event.
    mutating func finish(_ actions: consuming [Action], _ now: Duration) -> [Action] {
        while let (due, slot) = timers.first, due <= now {
            endWait(of: slot, &actions, now)
        }
        while let (due, slot) = originTimers.first, due <= now {
            originTimers.remove(slot, &originTimerPositions)
            if case .rampingUp = origins[Int(slot)].availability {
                origins[Int(slot)].availability = .open
            }
            touch(slot)
        }
        while let (due, account) = accountTimers.first, due <= now {
            endRest(account)
        }
        while let origin = touchedOrigins.popLast() {
            origins[Int(origin)].isTouched = false
            start(origin, &actions, now)
        }
        return actions
    }

    private mutating func endWait(of slot: Int32, _ actions: inout [Action], _ now: Duration) {
        timers.remove(slot, &timerPositions)
        let node = nodes[Int(slot)]
        if node.mayExpire, let expires = node.expires, expires <= now {
            settle(slot, .failed(.expired), &actions)
            return
        }
        switch node.state {
        case .waiting(.held):
            change(slot, to: .queued, &actions)
        case .waiting(.accepted):
            settle(slot, .confirmed, &actions)
        case .waiting(let row) where row.pauseEnd != nil:
            nodes[Int(slot)].isDue = true
            refresh(slot)
        case .committingSend, .inFlight, .waiting, .answered, .changing, .settling:
            refresh(slot)
        }
    }

    /// The number of moves in heaps so far, which is the work that grows with the queue.
    package var moves: Int {
        timerPositions.moves + originTimerPositions.moves + accountTimerPositions.moves
            + readyPositions.moves + accountPositions.moves + userPositions.moves
    }

    // MARK: Sending

    private mutating func start(_ origin: Int32, _ actions: inout [Action], _ now: Duration) {
        while origins[Int(origin)].underWay < Limits.modifiersInFlightMax,
            let user = origins[Int(origin)].users.first?.slot
        {
            let outage: Outage?
            switch origins[Int(origin)].availability {
            case .open: outage = nil
            case .down(let known, let probe) where probe <= now: outage = known
            case .down, .rampingUp, .halfOpen, .setOffline: return
            }
            guard let account = users[Int(user)].accounts.first?.slot,
                let slot = accounts[Int(account)].ready.first?.slot
            else { preconditionFailure("a user in turn has an account with a ready modifier") }
            if let outage, outage.isCaptive, !nodes[Int(slot)].isRepeatable {
                return probe(origin, outage, &actions, now)
            }
            let number = nodes[Int(slot)].number
            if let outage { origins[Int(origin)].availability = .halfOpen(outage, number) }
            if accounts[Int(account)].rest == .due { setRetryAfter(account, .halfOpen(number)) }
            noteTrial(of: account, number)
            origins[Int(origin)].underWay += 1
            accounts[Int(account)].underWay += 1
            users[Int(user)].underWay += 1
            turns += 1
            accounts[Int(account)].lastTurn = turns
            users[Int(user)].lastTurn = turns
            var wasUnknown = false
            if case .waiting(.unknown) = nodes[Int(slot)].state { wasUnknown = true }
            nodes[Int(slot)].state = .committingSend(wasUnknown: wasUnknown)
            nodes[Int(slot)].sentUnder = accounts[Int(account)].credential
            refresh(slot)
            let followers = followers(of: slot)
            join(followers, to: number)
            actions.append(.commitSend(number, joining: followers))
        }
    }

    mutating func touch(_ origin: Int32) {
        guard !origins[Int(origin)].isTouched else { return }
        origins[Int(origin)].isTouched = true
        touchedOrigins.append(origin)
    }

    /// Puts a node among the ready ones and the timers, or removes it, as its state says.
    ///
    /// Call this after each change of the node.
    mutating func refresh(_ slot: Int32) {
        let node = nodes[Int(slot)]
        timers.set(slot, node.wake, &timerPositions)
        let wasReady = readyPositions[slot] >= 0
        guard node.isReady != wasReady else { return }
        let number = node.isReady ? node.number : nil
        accounts[Int(node.account)].ready.set(slot, number, &readyPositions)
        refreshParty(node.account)
    }

    /// Sorts an account and its user by their turns, or removes them from those in turn.
    mutating func refreshParty(_ account: Int32) {
        let (origin, user) = (accountKeys[account].origin, accounts[Int(account)].user)
        let turn = accounts[Int(account)].mayBeAsked ? accounts[Int(account)].turn : nil
        users[Int(user)].accounts.set(account, turn, &accountPositions)
        origins[Int(origin)].users.set(user, users[Int(user)].turn, &userPositions)
        if turn != nil { touch(origin) }
    }

    // MARK: Steps

    /// Orders a new state to be written, from `inFlight` or from a waiting state.
    mutating func change(
        _ slot: Int32,
        to written: Written,
        round: ModifierRound = .same,
        _ actions: inout [Action]
    ) {
        nodes[Int(slot)].state = .changing(to: written)
        nodes[Int(slot)].isDue = false
        refresh(slot)
        restoreOrder(slot)
        let node = nodes[Int(slot)]
        actions.append(.changeState(node.number, node.change(to: written, round)))
    }

    package mutating func changeCommitted(_ number: ModifierNumber, now: Duration) -> [Action] {
        guard let slot = slots[number], case .changing(let written) = nodes[Int(slot)].state else {
            return []
        }
        var actions: [Action] = []
        defer { checkInvariants(of: number) }
        if case .accepted = written {
            let members = joined[number] ?? []
            part(number)
            for member in members.compactMap({ slots[$0] }) { endChange(member, written, &actions) }
        }
        endChange(slot, written, &actions)
        return finish(actions, now)
    }

    mutating func endChange(_ slot: Int32, _ written: Written, _ actions: inout [Action]) {
        nodes[Int(slot)].state = .waiting(written)
        if case .accepted = written { leaveLanes(slot) }
        let refused = accounts[Int(nodes[Int(slot)].account)].refused
        if written == .authWait, !refused.contains(nodes[Int(slot)].number) {
            // The account got another credential meanwhile, even if that was refused, too.
            change(slot, to: .queued, &actions)
        }
        if written == .conflict, nodes[Int(slot)].isDue {
            // The rule was corrected meanwhile.
            change(slot, to: .queued, round: .next, &actions)
        }
        refresh(slot)
    }
}

extension ModifierQueue.Node {
    /// The change of a row to this state.
    fileprivate func change(
        to written: ModifierQueue.Written,
        _ round: ModifierRound
    ) -> ModifierQueue.Change {
        let until: Duration? =
            switch written {
            case .held(let end), .retryWait(let end), .accepted(let end): end
            case .unknown(let end): end
            case .queued, .authWait, .conflict: nil
            }
        return ModifierQueue.Change(
            state: written.state,
            until: until,
            attempts: Int(attempts),
            answersNotApplied: Int(answersNotApplied),
            isStalled: isStalled,
            isPerhapsApplied: isPerhapsApplied,
            round: round
        )
    }
}

/// The last numbers that left the queue without being confirmed.
///
/// There are at most ``Limits/lateFailuresMax``.
struct LateFailures: Sendable {
    private var known: Set<ModifierNumber> = []
    private var order: [ModifierNumber] = []
    private var next = 0

    func contains(_ number: ModifierNumber) -> Bool { known.contains(number) }

    mutating func insert(_ number: ModifierNumber) {
        guard known.insert(number).inserted else { return }
        if order.count < Limits.lateFailuresMax {
            order.append(number)
        } else {
            known.remove(order[next])
            order[next] = number
            next = (next + 1) % order.count
        }
    }
}
