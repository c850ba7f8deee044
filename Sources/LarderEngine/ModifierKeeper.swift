import LarderModel
import LarderStore
import LarderStrategy
import Logging
import Synchronization

/// Sends modifiers when they can be, and settles them: the shell of a ``ModifierQueue``.
///
/// Everything that happens comes as an event into one mailbox; one task takes them out in order,
/// holds the machine, and has what it returns done by tasks of their own.
final class ModifierKeeper: Sendable {
    enum Event: Sendable {
        /// There are more on disk than before: these, or some that have to be looked up.
        case accepted([StoredModifier])
        case sendCommitted(ModifierNumber)
        case sendNotCommitted(ModifierNumber)
        case attemptEnded(ModifierNumber, ModifierVerdict, ModifierRules)
        case changeCommitted(ModifierNumber)
        case settleCommitted(ModifierNumber)
        /// It is answered, and waits until a shared row shows it.
        case answerCommitted(ModifierNumber)
        case answerShown(ModifierNumber)
        /// The origin has said what a target is now; nil: that it is not there.
        case targetRead(EntryID, ScopeKey, BodySummary?)
        /// What it said shows what the modifier does.
        case readShowed(ModifierNumber)
        case originAnswered(OriginName)
        case originWentDown(OriginName, isCaptive: Bool)
        case originSetOffline(OriginName)
        case originWoken(OriginName)
        /// The origin has other settings.
        case originChanged(OriginName, hasOtherRules: Bool)
        case originRests(OriginName, Scope, until: Duration)
        case laneSet(Lane, Scope, isPaused: Bool)
        case asked(Question)
        case timeCame
    }

    struct Question: Sendable {
        enum Wish: Sendable {
            case cancel
            case discard
            case retry
            /// Only to hear how it stands.
            case none
        }

        let number: ModifierNumber
        let wish: Wish
        let reply: Reply
    }

    struct Standing: Sendable {
        let state: ModifierState?
        let wait: ModifierQueue.Wait?
        let dependants: [ModifierNumber]
    }

    typealias Reply = @Sendable (Result<Standing, ModifierQueue.Refusal>) -> Void

    /// Those whose question is not answered yet, by the order of asking; nil once nobody answers.
    private struct Askers {
        var waiting: [Int: Reply]? = [:]
        var count = 0

        mutating func add(_ reply: @escaping Reply) -> Int? {
            guard waiting != nil else { return nil }
            count += 1
            waiting?[count] = reply
            return count
        }
    }

    private let askers = Mutex(Askers())
    private let mailbox = Mailbox<Event>()
    /// Keeps looks that say the same from piling up.
    private let isLooking = Flag()
    /// Told whenever something was settled.
    let settlements = Listeners()
    /// Told whenever a step was written, or given up: what was refused with `notNow` may be asked.
    let commits = Listeners()

    func post(_ event: Event) {
        if case .accepted([]) = event, !isLooking.raise() { return }
        mailbox.post(event)
    }

    /// Refused with `notNow` once this has ended.
    func ask(
        _ number: ModifierNumber,
        _ wish: Question.Wish
    ) async -> Result<Standing, ModifierQueue.Refusal> {
        await withCheckedContinuation { continuation in
            let place = askers.withLock { $0.add { continuation.resume(returning: $0) } }
            guard let place else { return continuation.resume(returning: .failure(.notNow)) }
            let question = Question(number: number, wish: wish) { answer in
                let reply = self.askers.withLock { $0.waiting?.removeValue(forKey: place) }
                reply?(answer)
            }
            mailbox.post(.asked(question))
        }
    }

    /// What is asked from now on, or was and is not answered, is refused.
    private func endAnswering() {
        let left = askers.withLock { askers in
            defer { askers.waiting = nil }
            return askers.waiting ?? [:]
        }
        for reply in left.values { reply(.failure(.notNow)) }
    }

    func run(_ steps: ModifierSteps) async {
        defer { endAnswering() }
        var machine = ModifierQueue()
        steps.context.store.modifiers.whenLeft { [self] numbers in
            for number in numbers { post(.answerShown(number)) }
        }
        let clock = steps.context.clock
        let alarm = Alarm()
        await withDiscardingTaskGroup { group in
            group.addTask { await alarm.run(clock) { self.post(.timeCame) } }
            var (actions, end) = await steps.records.restore(&machine, &group)
            perform(actions, steps, &group)
            group.addTask { await steps.readAnswered() }
            var alarmedAt = machine.nextWake
            alarm.set(alarmedAt)
            for await event in mailbox.events {
                switch event {
                case .accepted(let modifiers):
                    if modifiers.isEmpty { isLooking.lower() }
                    let records = await records(of: modifiers, after: &end, steps, &group)
                    let (now, wall) = (clock.monotonic(), steps.context.clock.now())
                    actions = machine.accepted(records, now: now, wall: wall) { name, scope in
                        steps.context.health[name]?.restEnd(of: scope, now: now)
                    }
                case .asked(let question):
                    actions = answer(question, &machine, clock.monotonic())
                    if case .retry = question.wish, !actions.isEmpty,
                        let account = machine.account(of: question.number)
                    {
                        // A hand has ended the rest, for those that come next, too.
                        steps.context.health.change(account.origin) {
                            $0.restEnded(of: account.scope)
                        }
                    }
                case .originChanged(let name, let hasOtherRules):
                    let resends = hasOtherRules ? await resends(at: name, steps, &group) : [:]
                    let now = clock.monotonic()
                    actions = machine.originChanged(name, resends: resends, now: now)
                case .timeCame:
                    alarmedAt = nil
                    actions = machine.timePassed(now: clock.monotonic())
                case .targetRead(let id, let scope, let body):
                    actions = []
                    group.addTask {
                        for number in await steps.accepted(shownBy: id, scope, body) {
                            self.post(.readShowed(number))
                        }
                    }
                case .settleCommitted, .answerCommitted, .answerShown:
                    actions = handle(event, &machine, steps)
                    settlements.tell()
                    commits.tell()
                case .sendCommitted, .sendNotCommitted, .changeCommitted:
                    actions = handle(event, &machine, steps)
                    commits.tell()
                case .originAnswered(let name), .originWoken(let name):
                    actions = handle(event, &machine, steps)
                    group.addTask { await steps.readAnswered(at: name) }
                case .attemptEnded, .readShowed, .originWentDown, .originSetOffline,
                    .originRests, .laneSet:
                    actions = handle(event, &machine, steps)
                }
                perform(actions, steps, &group)
                guard machine.nextWake != alarmedAt else { continue }
                alarmedAt = machine.nextWake
                alarm.set(alarmedAt)
            }
            group.cancelAll()
        }
    }

    // MARK: Events

    /// What the machine has to know of some that were accepted, in the order of their numbers,
    /// whoever was answered first.
    ///
    /// Those that come next are taken as they are; where some are missing in between, all of them
    /// are looked up, and what comes of these later is known by then.
    private func records(
        of modifiers: [StoredModifier],
        after last: inout ModifierNumber?,
        _ steps: ModifierSteps,
        _ group: inout DiscardingTaskGroup
    ) async -> [ModifierRecord] {
        if let known = last, let first = modifiers.first, let end = modifiers.last {
            if end.number <= known { return [] }
            let isNext = first.number.value == known.value + 1
            if isNext, end.number.value == known.value + Int64(modifiers.count) {
                last = end.number
                return modifiers.map { steps.records.record(of: $0) }
            }
        }
        do throws(StoreError) {
            let found = try await steps.records.found(after: last)
            last = found.last
            steps.records.bury(found.unreadable, &group)
            return found.records
        } catch {
            steps.context.note("the modifiers were not read", error)
            // Those that are known go on meanwhile.
            group.addTask {
                guard await steps.context.pause(after: error) else { return }
                self.post(.accepted([]))
            }
            return []
        }
    }

    /// Which modifiers of an origin are sent again after no clear answer, by its present rules.
    ///
    /// Where the disk does not say it, the event comes again.
    private func resends(
        at name: OriginName,
        _ steps: ModifierSteps,
        _ group: inout DiscardingTaskGroup
    ) async -> [ModifierNumber: Bool] {
        do throws(StoreError) {
            let records = try await steps.records.found(after: nil).records
            let own = records.filter { $0.origin == name }
            return Dictionary(own.map { ($0.number, $0.resends) }) { first, _ in first }
        } catch {
            steps.context.note("the modifiers were not read", error)
            group.addTask {
                guard await steps.context.pause(after: error) else { return }
                self.post(.originChanged(name, hasOtherRules: true))
            }
            return [:]
        }
    }

    private func handle(
        _ event: Event,
        _ machine: inout ModifierQueue,
        _ steps: ModifierSteps
    ) -> [ModifierQueue.Action] {
        let (context, now) = (steps.context, steps.context.clock.monotonic())
        switch event {
        case .accepted, .asked, .timeCame, .targetRead, .originChanged:
            return []
        case .readShowed(let number):
            let actions = machine.readConfirmed(number, now: now)
            if !actions.isEmpty { steps.confirmedByRead(number) }
            return actions
        case .sendCommitted(let number):
            return machine.sendCommitted(number, now: now)
        case .sendNotCommitted(let number):
            return machine.sendNotCommitted(number, chance: context.chance(), now: now)
        case .attemptEnded(let number, let verdict, let rules):
            let chance = context.chance()
            return machine.attemptEnded(number, verdict, rules: rules, chance: chance, now: now)
        case .changeCommitted(let number):
            return machine.changeCommitted(number, now: now)
        case .settleCommitted(let number):
            return machine.settleCommitted(number, now: now)
        case .answerCommitted(let number):
            return machine.answerCommitted(number, now: now)
        case .answerShown(let number):
            return machine.answerShown(number, now: now)
        case .originAnswered(let name):
            // With nobody to wake there is nothing to draw.
            let chance = machine.count == 0 ? 0 : context.chance()
            return machine.originAnswered(name, chance: chance, now: now)
        case .originWentDown where machine.count == 0:
            // Nothing waits for it; what comes later tries by itself.
            return []
        case .originWentDown(let name, let isCaptive):
            let chance = context.chance()
            return machine.originWentDown(name, isCaptive: isCaptive, chance: chance, now: now)
        case .originSetOffline(let name):
            return machine.originSetOffline(name, now: now)
        case .originWoken(let name):
            return machine.originWoken(name, now: now)
        case .originRests(let name, let scope, let end):
            return machine.originRests(name, for: scope, until: end, now: now)
        case .laneSet(let lane, let scope, isPaused: true):
            return machine.lanePaused(lane, of: scope, now: now)
        case .laneSet(let lane, let scope, isPaused: false):
            return machine.laneResumed(lane, of: scope, now: now)
        }
    }

    private func answer(
        _ question: Question,
        _ machine: inout ModifierQueue,
        _ now: Duration
    ) -> [ModifierQueue.Action] {
        let number = question.number
        do throws(ModifierQueue.Refusal) {
            let actions =
                switch question.wish {
                case .none: [ModifierQueue.Action]()
                case .cancel:
                    try machine.cancelAsked(number, withDependants: true, now: now)
                case .discard: try machine.discardAsked(number, now: now)
                case .retry: try machine.retryAsked(number, now: now)
                }
            let standing = Standing(
                state: machine.state(of: number),
                wait: machine.waitingFor(number),
                dependants: machine.dependants(of: number)
            )
            question.reply(.success(standing))
            return actions
        } catch {
            question.reply(.failure(error))
            return []
        }
    }

    // MARK: Actions

    private func perform(
        _ actions: [ModifierQueue.Action],
        _ steps: ModifierSteps,
        _ group: inout DiscardingTaskGroup
    ) {
        for action in actions {
            group.addTask {
                guard let event = await steps.perform(action) else { return }
                self.post(event)
            }
        }
    }
}
