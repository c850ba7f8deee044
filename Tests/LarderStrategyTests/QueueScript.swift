import LarderModel

@testable import LarderStrategy

/// A modifier queue at a moment, and short words for what happens to it.
struct QueueScript {
    typealias Action = ModifierQueue.Action

    static let randomUnit = 0.5
    static let start = Duration.seconds(1_000)

    var queue = ModifierQueue()
    var now = start
    var rules = ModifierRules()
    let origin: OriginName
    let other: OriginName
    let scope = Scope.own(uid: 1_000, account: .default)

    init() throws {
        origin = try OriginName("a")
        other = try OriginName("b")
    }

    /// A modifier of the user at the origin, in lanes of these names.
    func record(
        _ number: Int64,
        _ lanes: [String] = [],
        dependsOn: [Int64] = [],
        resends: Bool = true
    ) throws -> ModifierRecord {
        var record = ModifierRecord(
            number: ModifierNumber(number),
            scope: scope,
            origin: origin,
            lanes: try lanes.map { .name(try LaneName($0)) },
            resends: resends
        )
        record.dependsOn = dependsOn.map { ModifierNumber($0) }
        return record
    }

    mutating func accept(_ records: [ModifierRecord]) -> [Action] {
        queue.accepted(records, now: now, wall: .start)
    }

    mutating func restore(_ records: [ModifierRecord]) -> [Action] {
        let limit = rules.acceptedLimit
        return queue.restored(records, acceptedLimit: { _ in limit }, now: now, wall: .start)
    }

    mutating func end(_ number: Int64, _ verdict: ModifierVerdict) -> [Action] {
        queue.attemptEnded(
            ModifierNumber(number),
            verdict,
            rules: rules,
            randomUnit: Self.randomUnit,
            now: now
        )
    }

    mutating func pass(_ time: Duration) -> [Action] {
        now += time
        return queue.timePassed(now: now)
    }

    /// Commits a step.
    mutating func commit(_ action: Action) -> [Action] {
        switch action {
        case .commitSend(let number, let followers):
            queue.sendCommitted(number, joined: followers, now: now)
        case .changeState(let number, _): queue.changeCommitted(number, now: now)
        case .settle(let number, _, let joined, _):
            ([number] + joined).flatMap { queue.settleCommitted($0, now: now) }
        case .endWait(let number): queue.settleCommitted(number, now: now)
        case .send, .probe: []
        }
    }

    /// Commits the steps, and all that follow, and says what was sent, in its order.
    mutating func run(_ actions: [Action]) -> [Int64] {
        var sent: [Int64] = []
        var steps = actions
        while !steps.isEmpty {
            let step = steps.removeFirst()
            if case .send(let number) = step { sent.append(number.value) }
            steps += commit(step)
        }
        queue.checkInvariants()
        return sent
    }

    /// Accepts and commits; what was sent.
    mutating func add(_ records: [ModifierRecord]) -> [Int64] { run(accept(records)) }

    /// The attempt ends, and all steps are committed; what was sent.
    mutating func finish(_ number: Int64, _ verdict: ModifierVerdict) -> [Int64] {
        run(end(number, verdict))
    }

    func wait(_ number: Int64) -> ModifierQueue.Wait? {
        queue.waitingFor(ModifierNumber(number))
    }

    func state(_ number: Int64) -> ModifierState? { queue.state(of: ModifierNumber(number)) }

    func change(
        _ number: Int64,
        _ state: ModifierState,
        until: Duration? = nil,
        attempts: Int = 1,
        notApplied: Int = 0,
        isStalled: Bool = false,
        isPerhapsApplied: Bool? = nil,
        round: ModifierRound = .same
    ) -> Action {
        .changeState(
            ModifierNumber(number),
            ModifierQueue.Change(
                state: state,
                until: until,
                attempts: attempts,
                answersNotApplied: notApplied,
                isStalled: isStalled,
                isPerhapsApplied: isPerhapsApplied ?? [.unknown, .accepted].contains(state),
                round: round
            )
        )
    }

    func settle(
        _ number: Int64,
        _ outcome: ModifierQueue.Outcome,
        _ dependants: [Int64] = []
    ) -> Action {
        .settle(
            ModifierNumber(number),
            outcome,
            dependants: dependants.map { ModifierNumber($0) }
        )
    }
}
