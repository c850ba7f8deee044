import LarderModel
import LarderStore
import LarderStrategy
import LarderWire
import Logging
import Synchronization

/// Fetches what pins wait for as soon as their origins answer: the shell of a ``PinRetryMachine``.
final class PinFetchRunner: Sendable {
    enum Event: Sendable {
        /// A pin may now wait for a fetch that did not before.
        case wanted
        case originAnswered(OriginName)
        /// A user's account has another credential at an origin; of nil: its settings changed.
        case originChanged(OriginName, of: UInt32?)
        /// Pins of a user have gone; of nil: an entry, or all pins, may be larger than before.
        case roomRaised(UInt32?)
        case reached(PinLine)
        case notReached(PinLine)
        /// A client's own attempt is over; ``PinFetchRunner`` may attempt the pin again.
        case askedForClient(PinAttempt, PinAttempt.Outcome)
        case restEnded
    }

    private let mailbox = Mailbox<Event>()
    private let asked = Mutex(Quota<TargetName>())
    /// Why the last attempt for a pin failed that goes on waiting, with the number of that failure.
    private let troubles = Mutex<[TargetName: (problem: Problem, number: Int)]>([:])
    /// Clients that wait for a pin: told whenever something may have changed for one.
    let listeners = Listeners()
    /// Keeps looks that say the same from piling up.
    private let isLooking = Flag()
    /// Raised until the room that a user's pins left is told to all users.
    private let isRoomShared = Flag()

    func post(_ event: Event) {
        if case .wanted = event, !isLooking.raise() { return }
        mailbox.post(event)
    }

    /// Excludes a pin from retries while a client's own attempt runs.
    ///
    /// This lasts until ``endAsking(_:_:)``, or until ``run(_:)`` has handled the outcome of the
    /// attempt. A look in between would immediately ask an origin again that has just failed.
    ///
    /// Either end is an event, so ``run(_:)`` looks again at each pin that it skipped.
    func beginAsking(_ scope: ScopeKey, _ id: EntryID) {
        _ = asked.withLock { $0.take(TargetName(scope, id)) }
    }

    /// The client made no attempt.
    func endAsking(_ scope: ScopeKey, _ id: EntryID) {
        asked.withLock { $0.release(TargetName(scope, id)) }
        post(.wanted)
    }

    /// The problem that the last attempt for a waiting pin met; nil if there was none.
    func trouble(of name: TargetName) -> Problem? { troubles.withLock { $0[name]?.problem } }

    /// Whether any waiting pin of an account has met a problem.
    func hasTrouble(in scope: ScopeKey) -> Bool {
        troubles.withLock { troubles in troubles.keys.contains { $0.scope == scope } }
    }

    /// A client asks for pins once more: what their last attempts have met does not count.
    func tryAgain(_ ids: [EntryID], _ scope: ScopeKey, _ context: EngineContext) {
        let failed = troubles.withLock { troubles in
            ids.filter { troubles.removeValue(forKey: TargetName(scope, $0)) != nil }
        }
        let names = Set(failed.compactMap { PinAttempt(context, scope, $0)?.name })
        for name in names.sorted() { post(.originAnswered(name)) }
    }

    func run(_ context: EngineContext) async {
        await withDiscardingTaskGroup { group in
            var machine = PinRetryMachine()
            let timer = DeadlineTimer()
            group.addTask { await timer.run(context.clock) { self.post(.restEnded) } }
            var timerDue: Duration?
            // The next look at a long list, of which each fetch has the rest looked up.
            var next: Duration?
            post(.wanted)
            // A login may have been the last step before a crash.
            group.addTask { await self.wantAgain(.held, context) }
            for await event in mailbox.events {
                let now = context.clock.monotonic()
                switch event {
                case .wanted:
                    isLooking.lower()
                    if let next, now < next {
                        listeners.tell()
                        guard timerDue.map({ $0 > next }) ?? true else { continue }
                        timerDue = next
                        timer.set(next)
                        continue
                    }
                case .originAnswered(let name): machine.originAnswered(name)
                case .originChanged(let name, let uid):
                    machine.originAnswered(name, of: uid)
                    group.addTask {
                        await self.wantAgain(.held, at: name, of: uid, context)
                        await self.wantAgain(.failed, at: name, of: uid, context)
                    }
                case .roomRaised(let uid):
                    group.addTask { await self.wantAgain(.tooLarge, of: uid, context) }
                    if uid != nil, isRoomShared.raise() {
                        group.addTask { await self.shareRoom(context) }
                    }
                case .reached(let line): machine.reached(line)
                case .notReached(let line): machine.notReached(line, now: now)
                case .askedForClient(let attempt, let outcome):
                    asked.withLock { $0.release(TargetName(attempt.scope, attempt.id)) }
                    note(outcome, of: attempt)
                    if outcome.isSettled {
                        machine.originAnswered(attempt.name)
                    } else {
                        machine.clientFailed(attempt.line, now: now)
                    }
                case .restEnded: timerDue = nil
                }
                listeners.tell()
                var due: Duration? = now + Limits.pinRetryBase
                if let found = await lookUp(context) {
                    let wanted = Set(found.attempts.keys)
                    for line in machine.looked(wanted, resting: found.resting, now: now) {
                        let attempts = found.attempts[line] ?? []
                        group.addTask { await self.ask(line, attempts, context) }
                    }
                    due = machine.nextDue
                    next = found.count > Limits.pinsLookedUpAtOnce ? now + Limits.pinRetryBase : nil
                }
                guard due != timerDue else { continue }
                timerDue = due
                timer.set(due)
            }
            for await _ in mailbox.ended() {}
            group.cancelAll()
        }
    }

    /// Has all users' pins without room fetched again, a while after a user's pins have gone.
    ///
    /// So a user who pins and unpins all the time has others' pins fetched once in that while.
    private func shareRoom(_ context: EngineContext) async {
        guard (try? await context.clock.sleep(for: Limits.pinRetryMax)) != nil else { return }
        isRoomShared.lower()
        await wantAgain(.tooLarge, context)
    }

    /// Has pins that gave up be fetched again, as the reason may be gone.
    ///
    /// Of pins that are held, these are pins of shared rows that their users no longer see. With
    /// them, pins that wait are held again by shared rows that their users see since a logout.
    private func wantAgain(
        _ state: PinState,
        at name: OriginName? = nil,
        of uid: UInt32? = nil,
        _ context: EngineContext
    ) async {
        let pins = context.store.pins
        guard state == .held || !pins.totals.failed.isEmpty else { return }
        do throws(StoreError) {
            var last: Int64 = 0
            while true {
                let page =
                    if state == .held {
                        try await pins.ofShared(after: last)
                    } else {
                        try await pins.failed(state, after: last)
                    }
                guard let end = page.last else { return }
                last = end.number
                let meant = page.compactMap { pin -> (scope: ScopeKey, id: EntryID)? in
                    let scope = context.store.key(for: pin.scope)
                    guard let attempt = PinAttempt(context, scope, pin.id),
                        name.map({ $0 == attempt.name }) ?? true,
                        uid.map({ $0 == pin.scope.uid }) ?? true,
                        state != .held
                            || (pin.state == .held)
                                == (context.sharedScope(of: pin.id, for: scope) == nil)
                    else { return nil }
                    return (scope, pin.id)
                }
                if !meant.isEmpty { try await pins.wantAgain(meant) }
            }
        } catch {
            context.note("pins that failed were not looked up", error)
        }
    }

    private struct Wanted {
        var attempts: [PinLine: [PinAttempt]] = [:]
        /// Lines in which the origin told the account of a pin to wait, and the first end of those
        /// rests.
        var resting: [PinLine: Duration] = [:]
        var count = 0
    }

    /// Looks up the wanted pins; a pin that no origin can give gets the reason.
    ///
    /// Nil if the store could not read them: ``run(_:)`` then looks again.
    private func lookUp(_ context: EngineContext) async -> Wanted? {
        var wanted = Wanted()
        do throws(StoreError) {
            var last: Int64 = 0
            while true {
                let page = try await context.store.pins.wanted(after: last)
                guard let end = page.last else {
                    let names = wanted.attempts.mapValues { $0.map(\.target) }
                    let all = Set(names.values.joined())
                    let failed = troubles.withLock { troubles in
                        if wanted.resting.isEmpty {
                            troubles = troubles.filter { all.contains($0.key) }
                        }
                        return troubles.mapValues(\.number)
                    }
                    // The sort is stable: pins that have failed come last, the latest failure
                    // at the end.
                    wanted.attempts = wanted.attempts.mapValues { attempts in
                        attempts.sorted { (failed[$0.target] ?? 0) < (failed[$1.target] ?? 0) }
                    }
                    return wanted
                }
                last = end.number
                wanted.count += page.count
                for pin in page {
                    let scope = context.store.key(for: pin.scope)
                    let name = TargetName(scope, pin.id)
                    guard asked.withLock({ $0.count(of: name) == 0 }) else { continue }
                    if let attempt = PinAttempt(context, scope, pin.id) {
                        let (line, states) = (attempt.line, context.originStates)
                        if let end = states.retryAfterEnd(of: line.origin, for: pin.scope) {
                            wanted.resting[line] = min(wanted.resting[line] ?? end, end)
                        } else {
                            wanted.attempts[line, default: []].append(attempt)
                        }
                    } else {
                        let reason = "it belongs to no configured origin"
                        let trouble = PinTrouble(problem: "unknown-origin", reason: reason)
                        try await context.store.pins.setTrouble(scope, pin.id, .failed, trouble)
                    }
                }
            }
        } catch {
            context.note("what pins wait for was not looked up", error)
            return nil
        }
    }

    /// Asks for one after the other, or for some of a long list at the same time, until the origin
    /// cannot be reached.
    ///
    /// The rest of a long list has its turn after the next look, with what came meanwhile.
    private func ask(
        _ line: PinLine,
        _ attempts: [PinAttempt],
        _ context: EngineContext
    ) async {
        let width = attempts.count > Limits.pinsLookedUpAtOnce ? Limits.pinsFetchedAtOnce : 1
        var isReached = true
        var failuresInRow = 0
        /// Whether others are asked for after an attempt.
        func goesOn(after outcome: PinAttempt.Outcome, of attempt: PinAttempt) -> Bool {
            note(outcome, of: attempt)
            guard !outcome.isSettled else {
                failuresInRow = 0
                return true
            }
            isReached = false
            failuresInRow += 1
            guard failuresInRow < Limits.pinFailuresInRowMax else { return false }
            return isOfEntryAlone(outcome, attempt, context)
        }
        var rest = attempts.prefix(Limits.pinsAskedInTurnMax)
        await withTaskGroup(of: (attempt: PinAttempt, outcome: PinAttempt.Outcome).self) { group in
            var running = 0
            while true {
                while running < width, let attempt = rest.popFirst() {
                    running += 1
                    group.addTask { (attempt, await attempt.run()) }
                }
                guard let (attempt, outcome) = await group.next() else { return }
                running -= 1
                if !goesOn(after: outcome, of: attempt) { rest = [] }
            }
        }
        post(isReached ? .reached(line) : .notReached(line))
    }

    private func note(_ outcome: PinAttempt.Outcome, of attempt: PinAttempt) {
        troubles.withLock { troubles in
            if case .notReached(let problem?) = outcome {
                let last = troubles.values.map(\.number).max() ?? 0
                troubles[attempt.target] = (problem, last + 1)
            } else if outcome.isSettled {
                troubles[attempt.target] = nil
            }
        }
    }

    /// Whether a failure says nothing about other entries: the origin has answered, and is not busy.
    ///
    /// A timeout has the status of an answer whose body fell silent.
    private func isOfEntryAlone(
        _ outcome: PinAttempt.Outcome,
        _ attempt: PinAttempt,
        _ context: EngineContext
    ) -> Bool {
        guard case .notReached(let problem?) = outcome,
            [.originStatus, .badAnswer].contains(problem.kind)
                || problem.kind == .timeout && problem.originStatus != nil,
            problem.originStatus != 429, problem.originStatus != 503
        else { return false }
        let scope = attempt.scope.scope
        return context.originStates.refreshPause(of: attempt.name, for: scope) == nil
    }
}

/// Attempt to fetch the entry of a pin; the answer is stored like any other answer.
struct PinAttempt: Sendable {
    enum Outcome: Sendable {
        case held
        /// The pin will not get its bytes, and says why.
        case refused(Problem)
        /// The pin cannot get its bytes now, and goes on waiting.
        ///
        /// Nil if the store caused that.
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

    var name: OriginName { origin.name }
    var line: PinLine { PinLine(name, scope.scope.uid) }
    var target: TargetName { TargetName(scope, id) }

    /// Nil for an id that no origin can give.
    init?(_ context: EngineContext, _ scope: ScopeKey, _ id: EntryID) {
        guard !id.isEntity, TemporaryID.occurrences(in: id.text).isEmpty,
            let origin = id.readOrigin(in: scope, context)
        else { return nil }
        self.context = context
        self.scope = scope
        self.id = id
        self.origin = origin
    }

    /// Asks for the entry again, as a poll; the pin says why if it cannot be kept.
    func poll() async throws(StoreError) -> FlightOutcome {
        guard let request = await FetchRequest.again(id, in: scope, context) else {
            return .failed(Problem(.miss, Self.unknownRequest))
        }
        let outcome = try await context.flightStarter.poll(request, scope)
        _ = try await settle(outcome)
        return outcome
    }

    func run() async -> Outcome {
        do throws(StoreError) {
            guard let request = await FetchRequest.again(id, in: scope, context) else {
                return try await refuse(Problem(.miss, Self.unknownRequest), .failed)
            }
            return try await settle(await context.flightStarter.answer(to: request, scope))
        } catch {
            context.note("a pin was not written", error, of: id)
            return .notReached(nil)
        }
    }

    private static let unknownRequest = "the body of its request is not stored: fetch it once"

    private func settle(_ outcome: FlightOutcome) async throws(StoreError) -> Outcome {
        switch outcome {
        case .current(let answer):
            return try await confirm(answer)
        case .deleted(_, let status, _, let isStored):
            let problem = Problem(PinTrouble(deleted: status))
            guard isStored, !origin.isShared, !context.isTargeted(scope, id) else {
                return try await refuse(problem, .failed)
            }
            // The commit of the deletion has told the pin of a user's own row. If the pin says
            // nothing, a client has asked for it again since.
            let pin = try await context.store.pins.pin(scope, id)
            return pin.map { $0.trouble == nil } == true ? .notReached(nil) : .refused(problem)
        case .passed: return .notReached(nil)
        case .failed(let problem), .refused(_, let problem):
            if problem.kind == .entryTooLarge, let status = problem.originStatus {
                return try await unkept(status)
            }
            switch problem.kind {
            case .entryTooLarge, .pinsFull: return try await refuse(problem, .tooLarge)
            case _ where problem.isTransient: return .notReached(problem)
            default: return try await refuse(problem, .failed)
            }
        }
    }

    /// Finds the outcome in the pin, after an answer.
    ///
    /// The pin has the answer unless there was no room. Or the answer only confirmed an entry that
    /// the cache got meanwhile.
    private func confirm(_ answer: FlightAnswer) async throws(StoreError) -> Outcome {
        guard let pin = try await context.store.pins.pin(scope, id) else { return .notReached(nil) }
        if pin.entry != nil, !pin.isWanted { return .held }
        if let trouble = pin.trouble { return .refused(Problem(trouble)) }
        guard !answer.isForbidden else {
            guard answer.isResult else { return try await unkept(answer.status) }
            let reason = "the origin forbids with no-store that its answer is kept"
            return try await refuse(Problem(.badAnswer, reason), .failed)
        }
        if let error = answer.unstored { return try await settle(.failed(Problem(error))) }
        let outcome = try await context.store.pins.pin(
            scope,
            id,
            origin: origin.name,
            adoptsShared: context.sharedScope(of: id, for: scope) != nil,
            for: .itself,
            now: context.clock.now()
        )
        switch outcome {
        case .held: return .held
        case .tooLarge(let trouble): return .refused(Problem(trouble))
        case .waiting, .miss: return .notReached(nil)
        }
    }

    /// The outcome of a 2xx that is not kept, as it is not what was asked for.
    private func unkept(_ status: Int) async throws(StoreError) -> Outcome {
        let problem = Problem(.badAnswer, "the origin answered \(status), which is not kept")
        // After a 202 the origin is still at work.
        return status == 202 ? .notReached(problem) : try await refuse(problem, .failed)
    }

    private func refuse(_ problem: Problem, _ state: PinState) async throws(StoreError) -> Outcome {
        let trouble = PinTrouble(problem: problem.kind.rawValue, reason: problem.detail)
        try await context.store.pins.setTrouble(scope, id, state, trouble)
        return .refused(problem)
    }
}

extension Problem {
    init(_ trouble: PinTrouble) {
        self.init(ProblemKind(rawValue: trouble.problem) ?? .internal, trouble.reason)
    }

    /// Whether a retry may succeed without a change by a person, as for a 2xx that is refused.
    var isTransient: Bool {
        retryable || kind == .originStatus && (originStatus ?? 400) < 400 || originStatus == 429
    }
}
