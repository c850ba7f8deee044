import LarderModel
import LarderNormalize
import LarderStore
import LarderStrategy
import LarderUpstream
import LarderWire
import Synchronization

/// One request under way to an origin, shared by every client of a scope that wants the same.
final class Flight: Sendable {
    struct Key: Hashable, Sendable {
        var scope: ScopeKey
        let url: WebURL
        let headers: HeaderFields
        var normalizes = true
    }

    struct Plan: Sendable {
        var key: Key
        /// The scope of the client that has sent it off, against whose share it counts.
        let payer: ScopeKey
        let origin: OriginSettings
        let cached: Entry?
        /// Whether a 304 answers its client: one who sees no row, as the shared one is hidden, needs the
        /// bytes.
        var takesConfirmation = true
        let isOriginDown: Bool
        /// By which its answer is normalized; nil to keep it whole.
        let rules: EntityRules?
        var isNormalized = false
        let client: ClientTag?
        /// Where the answer goes as it comes; nil for one that is stored, and that any number of
        /// clients may share.
        let handover: BodyHandover?

        var cause: ChangeCause { ChangeCause(.network, text: "fetch:\(key.url)", client: client) }
    }

    let plan: Plan
    /// Until when it takes passengers, on the monotonic clock.
    let boardingEnds: Duration
    private let context: EngineContext
    private let passengers: Mutex<Passengers>
    // Both orders: whoever is told that it has landed reads what was said before that.
    private let hasBecomePrivate = Atomic<Bool>(false)

    private struct Passengers {
        var deadline: Duration
        var waiting: [@Sendable (FlightOutcome) -> Void] = []
        var outcome: FlightOutcome?

        /// Those who are to be told; nobody waits after it.
        mutating func land(_ outcome: FlightOutcome?) -> [@Sendable (FlightOutcome) -> Void] {
            self.outcome = outcome
            defer { waiting = [] }
            return waiting
        }
    }

    init(_ plan: Plan, context: EngineContext, deadline: Duration, boardingEnds: Duration) {
        self.boardingEnds = boardingEnds
        self.plan = plan
        self.context = context
        passengers = Mutex(Passengers(deadline: deadline))
    }

    /// Has `tell` called once with what the flight comes to, and keeps it in the air until
    /// `deadline` at least.
    ///
    /// It may be called at once, on any thread.
    func join(until deadline: Duration, _ tell: @escaping @Sendable (FlightOutcome) -> Void) {
        let outcome = passengers.withLock { passengers in
            passengers.deadline = max(passengers.deadline, deadline)
            if passengers.outcome == nil { passengers.waiting.append(tell) }
            return passengers.outcome
        }
        if let outcome { tell(outcome) }
    }

    /// Whether the answer of a shared origin is for the one who has sent the flight off alone, and
    /// kept in their own scope.
    var isPrivate: Bool { hasBecomePrivate.load(ordering: .acquiring) }

    func becomePrivate() { hasBecomePrivate.store(true, ordering: .releasing) }

    /// Flies until it lands, and tells everybody.
    ///
    /// `isLanding` is called right before that: from
    /// then on nobody may join.
    func run(isLanding: () -> Void) async {
        let store = context.store
        let cachedID = plan.cached?.id
        if let cachedID { store.protect(plan.key.scope, cachedID) }
        let outcome = await withTaskGroup(of: FlightOutcome?.self) { group in
            group.addTask { await FlightRun(self, self.context).fly() }
            group.addTask { await self.watchDeadline() }
            if let handover = plan.handover {
                group.addTask {
                    await handover.untilOver()
                    return nil
                }
            }
            var outcome: FlightOutcome?
            for await result in group {
                // The deadline only hurries the flight; what it came to is its own to say.
                if let result { outcome = result }
                group.cancelAll()
            }
            return outcome ?? .failed(Problem(FlightFailure.timeout, url: plan.key.url))
        }
        if let cachedID { store.release(plan.key.scope, cachedID) }
        plan.handover?.finish(isWhole: false)
        isLanding()
        for tell in passengers.withLock({ $0.land(outcome) }) { tell(outcome) }
    }

    /// Tells the head of an answer that is passed on.
    ///
    /// From now on the body takes the time that the client takes.
    func handOver(_ head: PassedHead) {
        let deadline = context.clock.monotonic() + Limits.requestTimeMax
        let waiting = passengers.withLock { passengers in
            passengers.deadline = deadline
            return passengers.land(nil)
        }
        for tell in waiting { tell(.passed(head)) }
    }

    private var deadline: Duration { passengers.withLock { $0.deadline } }

    func remaining() -> Duration { max(.zero, deadline - context.clock.monotonic()) }

    /// Returns when the deadline has passed; it may be moved while this waits.
    private func watchDeadline() async -> FlightOutcome? {
        while true {
            let due = deadline
            guard (try? await context.clock.sleep(until: due)) != nil, deadline > due else {
                return nil
            }
        }
    }
}

enum FlightOutcome: Sendable {
    case current(FlightAnswer)
    case deleted(Revision, status: Int)
    case failed(Problem)
    case refused(OriginRefusal, Problem)
    /// The head of an answer whose body now goes through the plan's ``BodyHandover``.
    case passed(PassedHead)

    /// A deletion that cannot be written down is told all the same.
    init(unstoredDeletion status: Int, _ store: Store) {
        do throws(StoreError) {
            self = .deleted(try store.nextRevision(), status: status)
        } catch {
            self = .failed(Problem(error))
        }
    }

    /// What those hear who have joined the flight of somebody else: nothing of cookies, which are for
    /// the one who has asked.
    var forOthers: FlightOutcome {
        switch self {
        case .current(var answer):
            answer.cookies = HeaderFields()
            return .current(answer)
        case .refused(var refusal, let problem):
            refusal.cookies = HeaderFields()
            return .refused(refusal, problem)
        case .deleted, .failed, .passed: return self
        }
    }

    var occasion: FetchWord.Occasion {
        switch self {
        case .current(let answer):
            .network(status: answer.status, isStored: answer.isKept, cookies: answer.cookies)
        case .deleted(_, let status):
            .network(status: status, isStored: false, cookies: HeaderFields())
        case .failed, .refused, .passed:
            .cache()
        }
    }
}

struct FlightAnswer: Sendable {
    var entry: Entry
    /// Nil where they are in the store: a 304 has confirmed them, or they are more than a frame shows.
    let bytes: [UInt8]?
    /// The status that the origin answered with: 200, or 304.
    let status: Int
    /// Whether the store has it: else it is only told.
    var isKept = true
    /// Whether it is kept normalized: what it shows may be newer than its bytes.
    var isNormalized = false
    /// What the origin sets at whoever has asked: told to nobody else, and kept nowhere.
    var cookies = HeaderFields()
}

struct OriginRefusal: Equatable, Sendable {
    let status: Int
    let headers: HeaderFields
    var cookies = HeaderFields()
    let body: [UInt8]
    let isWhole: Bool
}

struct PassedHead: Equatable, Sendable {
    let status: Int
    let headers: HeaderFields
    var cookies = HeaderFields()
    let byteCount: Int64?
}
