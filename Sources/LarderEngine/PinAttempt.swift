import LarderModel
import LarderStore
import LarderStrategy
import LarderWire
import Logging

/// One try to fetch what a pin waits for; the answer lands in the pin like any other answer.
struct PinAttempt: Sendable {
    /// What it came to, and what the pin says from then on.
    enum Outcome: Sendable {
        case held
        /// It will not be had: the pin says why.
        case refused(Problem)
        /// It cannot be had now: the pin goes on waiting. Nil where that is the store's doing.
        case notReached(Problem?)

        var isSettled: Bool {
            switch self {
            case .held, .refused: true
            case .notReached: false
            }
        }
    }

    let context: EngineContext
    let scope: ScopeKey
    let id: EntryID
    let origin: OriginSettings
    let url: WebURL

    var name: OriginName { origin.name }

    /// Nil for an id that no origin can give.
    init?(_ context: EngineContext, _ scope: ScopeKey, _ id: EntryID) {
        guard !id.isEntity, let address = context.address(of: id, in: scope) else { return nil }
        self.context = context
        self.scope = scope
        self.id = id
        (url, origin) = address
    }

    func run() async -> Outcome {
        let request = FetchRequest(FetchCommand(url: url), origin: origin)
        let outcome = await withCheckedContinuation { continuation in
            context.board.board(request, scope, cached: nil) { continuation.resume(returning: $0) }
        }
        do throws(StoreError) {
            return try await settle(outcome)
        } catch {
            context.note("a pin was not written", error, of: id)
            return .notReached(nil)
        }
    }

    private func settle(_ outcome: FlightOutcome) async throws(StoreError) -> Outcome {
        switch outcome {
        case .current:
            return try await confirm()
        case .deleted(_, let status):
            let problem = Problem(.deleted, "the origin answered \(status): it has deleted it")
            return try await refuse(problem, .failed)
        case .passed: return .notReached(nil)
        case .failed(let problem), .refused(_, let problem):
            switch problem.kind {
            case .entryTooLarge, .pinsFull: return try await refuse(problem, .tooLarge)
            case _ where problem.isTransient: return .notReached(problem)
            default: return try await refuse(problem, .failed)
            }
        }
    }

    /// The answer is in the pin, unless there was no room; or it has only confirmed what the cache
    /// has got meanwhile.
    private func confirm() async throws(StoreError) -> Outcome {
        guard let pin = try await context.store.pins.pin(scope, id) else { return .notReached(nil) }
        if pin.entry != nil { return .held }
        if let trouble = pin.trouble { return .refused(Problem(trouble)) }
        let now = context.clock.now()
        switch try await context.store.pins.pin(scope, id, origin: origin.name, now: now) {
        case .held: return .held
        case .tooLarge(let trouble): return .refused(Problem(trouble))
        case .waiting, .miss: return .notReached(nil)
        }
    }

    private func refuse(_ problem: Problem, _ state: PinState) async throws(StoreError) -> Outcome {
        let trouble = PinTrouble(problem: problem.kind.rawValue, reason: problem.detail)
        try await context.store.pins.setTrouble(scope, id, state, trouble)
        return .refused(problem)
    }
}

extension Problem {
    /// What a pin says of itself, as a problem.
    init(_ trouble: PinTrouble) {
        self.init(ProblemKind(rawValue: trouble.problem) ?? .internal, trouble.reason)
    }

    /// Whether the same may go well later without anybody changing it; an origin's own failure too.
    fileprivate var isTransient: Bool {
        guard kind == .originStatus, let originStatus else { return isRetryable }
        return originStatus >= 500 || [408, 425, 429].contains(originStatus)
    }
}
