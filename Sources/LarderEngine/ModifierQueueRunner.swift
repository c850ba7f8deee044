import LarderJSON
import LarderModel
import LarderNormalize
import LarderStore
import LarderStrategy
import Logging
import Synchronization

/// Sends modifiers when they can be, and settles them: the shell of a ``ModifierQueue``.
///
/// The time of the queue is that of ``EngineClock/boot``, so that it counts suspends.
final class ModifierQueueRunner: Sendable {
    /// Tells the machine what has happened.
    typealias Turn = @Sendable (inout ModifierQueue, _ now: Duration) -> [ModifierQueue.Action]

    typealias Command =
        @Sendable (inout ModifierQueue, _ now: Duration)
        throws(ModifierQueue.Refusal) -> [ModifierQueue.Action]

    enum Event: Sendable {
        case told(Turn)
        /// There are more on disk than before: the ``Arrivals``.
        case arrived
        /// The origin has said what a target is now; nil: that it is not there.
        case targetRead(EntryID, ScopeKey, BodySummary?)
        /// The origin can be asked again.
        case originReturned(OriginName, Turn)
        case originChanged(OriginName, hasOtherRules: Bool)
    }

    struct QueueEntryStatus: Sendable {
        let wait: ModifierQueue.Wait?
        let dependants: [ModifierNumber]
    }

    /// Modifiers that were accepted since the queue's task took the last ones.
    private struct Arrivals {
        var modifiers: [StoredModifier] = []
        /// Whether there are more, which have to be looked up.
        var areOnDisk = false
        /// Whether the task has an event for them: writers of one commit wake it once.
        var isPosted = false
    }

    private let mailbox = Mailbox<Event>()
    private let arrivals = Mutex(Arrivals())
    /// Renamed ids for which the queue's task has yet to move modifiers.
    private let renamed = Mutex<[RenamedModifiers]>([])
    let settlements = Listeners()
    /// Told whenever a step was written or given up: a command refused with `notNow` may be repeated.
    let commits = Listeners()

    func post(_ event: Event) {
        mailbox.post(event)
    }

    /// Tells the queue of accepted modifiers; without any it looks on the disk.
    func arrived(_ modifiers: [StoredModifier] = []) {
        let isFirst = arrivals.withLock { arrivals in
            defer { arrivals.isPosted = true }
            arrivals.modifiers += modifiers
            if modifiers.isEmpty { arrivals.areOnDisk = true }
            return !arrivals.isPosted
        }
        if isFirst { mailbox.post(.arrived) }
    }

    /// Takes the modifiers that have arrived; none if the disk has others, too.
    private func takeArrivals() -> [StoredModifier] {
        let taken = arrivals.withLock { arrivals in
            defer { arrivals = Arrivals() }
            return arrivals
        }
        return taken.areOnDisk ? [] : taken.modifiers.sorted { $0.number < $1.number }
    }

    /// Carries out a command, and returns what the modifier waits for after it.
    ///
    /// Refused with `notNow` once ``run(_:)`` has ended.
    func ask(
        _ number: ModifierNumber,
        _ command: @escaping Command
    ) async -> Result<QueueEntryStatus, ModifierQueue.Refusal> {
        await withCheckedContinuation { continuation in
            let isTaken = mailbox.post(
                .told { machine, now in
                    do throws(ModifierQueue.Refusal) {
                        let actions = try command(&machine, now)
                        let status = QueueEntryStatus(
                            wait: machine.waitingFor(number),
                            dependants: machine.dependants(of: number)
                        )
                        continuation.resume(returning: .success(status))
                        return actions
                    } catch {
                        continuation.resume(returning: .failure(error))
                        return []
                    }
                }
            )
            if !isTaken { continuation.resume(returning: .failure(.notNow)) }
        }
    }

    /// Whether the row of a modifier says what the machine has decided.
    func isWritten(_ number: ModifierNumber) async -> Bool {
        guard case .success(let status) = await ask(number, { _, _ in [] }) else { return false }
        if case .commit? = status.wait { return false }
        return true
    }

    func run(_ steps: ModifierSteps) async {
        var machine = ModifierQueue()
        steps.context.store.modifiers.whenLeft { [self] numbers in
            for number in numbers { post(.told { $0.answerShown(number, now: $1) }) }
            settlements.tell()
            commits.tell()
        }
        steps.context.store.modifiers.whenRenamed { [self] told in
            renamed.withLock { $0.append(told) }
            post(.told { [self] in moveRenamed(&$0, now: $1) })
        }
        let clock = steps.context.clock.boot
        let timer = DeadlineTimer()
        await withDiscardingTaskGroup { group in
            group.addTask {
                await timer.run(clock) { self.post(.told { $0.timePassed(now: $1) }) }
            }
            var (actions, end) = await steps.records.restore(&machine, &group)
            perform(actions, steps, &group)
            group.addTask { await steps.reads.begin() }
            var timerDue = machine.nextWake
            timer.set(timerDue)
            for await event in mailbox.events {
                let now = clock.monotonic()
                if let due = timerDue, due <= now { timerDue = nil }
                switch event {
                case .told(let turn):
                    actions = turn(&machine, now)
                case .arrived:
                    var new = await records(of: takeArrivals(), after: &end, steps, &group)
                    let (now, wall) = (clock.monotonic(), clock.now())
                    actions = moveRenamed(&machine, now: now)
                    new = new.map { steps.records.current($0) }
                    actions += machine.accepted(new, now: now, wall: wall) { name, scope in
                        steps.context.originStates.queueRetryAfterEnd(of: scope, at: name)
                    }
                case .targetRead(let id, let scope, let body):
                    actions = []
                    let accepted = AcceptedModifiers(context: steps.context)
                    group.addTask {
                        for number in await accepted.modifiers(shownBy: id, scope, body) {
                            self.post(.told { steps.readConfirmed(number, &$0, now: $1) })
                        }
                    }
                case .originReturned(let name, let turn):
                    actions = turn(&machine, now)
                    group.addTask { await steps.reads.begin(at: name) }
                case .originChanged(let name, let hasOtherRules):
                    let records = hasOtherRules ? await records(at: name, steps, &group) : []
                    let now = clock.monotonic()
                    actions = machine.originChanged(name, records: records, now: now)
                    group.addTask { await steps.reads.begin(at: name) }
                }
                perform(actions, steps, &group)
                guard machine.nextWake != timerDue else { continue }
                timerDue = machine.nextWake
                timer.set(timerDue)
            }
            // Requests that wait for an answer get it; its actions are done at the next start.
            for await case .told(let turn) in mailbox.ended() {
                _ = turn(&machine, clock.monotonic())
            }
            await steps.records.noteClocks()
            group.cancelAll()
        }
    }

    // MARK: Events

    /// Moves modifiers into the lanes of real ids.
    ///
    /// This has to come before later modifiers enter these lanes, as they would be sent first.
    private func moveRenamed(
        _ machine: inout ModifierQueue,
        now: Duration
    ) -> [ModifierQueue.Action] {
        let all = renamed.withLock { renamed in
            defer { renamed = [] }
            return renamed
        }
        var actions: [ModifierQueue.Action] = []
        for renamed in all {
            let moved = renamed.modifiers.map { (number: $0.number, lanes: $0.lanes) }
            actions += machine.renamed(renamed.ids, moved, of: renamed.scope, now: now)
        }
        return actions
    }

    /// The records of accepted modifiers for the machine, in the order of their numbers.
    ///
    /// Modifiers that follow the last known number are used as given. If numbers are missing in
    /// between, all are looked up, and later events for the missing ones change nothing.
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
            steps.records.moveToDeadLetters(found.unreadable, &group)
            return found.records
        } catch {
            steps.context.note("the modifiers were not read", error)
            // Modifiers that are known already go on meanwhile.
            group.addTask {
                guard await steps.context.pause(after: error) else { return }
                self.arrived()
            }
            return []
        }
    }

    /// The records of an origin's modifiers, by its present rules.
    ///
    /// If the store cannot be read, the event is posted again.
    private func records(
        at name: OriginName,
        _ steps: ModifierSteps,
        _ group: inout DiscardingTaskGroup
    ) async -> [ModifierRecord] {
        do throws(StoreError) {
            let records = try await steps.records.found(after: nil).records
            return records.filter { $0.origin == name }
        } catch {
            steps.context.note("the modifiers were not read", error)
            group.addTask {
                guard await steps.context.pause(after: error) else { return }
                self.post(.originChanged(name, hasOtherRules: true))
            }
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
                guard let turn = await steps.perform(action) else { return }
                self.post(.told(turn))
                switch action {
                case .settle, .endWait: self.settlements.tell()
                case .commitSend, .send, .changeState, .probe: break
                }
                self.commits.tell()
            }
        }
    }
}

/// Modifiers that were answered 202, and what the origin says of their targets.
struct AcceptedModifiers: Sendable {
    let context: EngineContext

    /// Modifiers that were answered 202 and whose effects all show in what the origin says.
    ///
    /// This checks a target that was just read, and their other targets as far as they are known.
    ///
    /// A modifier that a later one undid is shown together with that one.
    ///
    /// Empty if the read answer is not base: another one replaced it, or the disk is full. Without
    /// the modifiers, the view would then not be that answer.
    func modifiers(
        shownBy id: EntryID,
        _ scope: ScopeKey,
        _ body: BodySummary?
    ) async -> [ModifierNumber] {
        do throws(StoreError) {
            var shown: [ModifierNumber] = []
            for viewer in try await context.store.modifiers.viewers(of: id, in: scope) {
                shown += try await modifiers(shownBy: id, to: viewer, body)
            }
            return shown
        } catch {
            // The next read is looked at again, and the limit is there.
            context.note("a modifier was not compared with what was read", error)
            return []
        }
    }

    private func modifiers(
        shownBy id: EntryID,
        to scope: ScopeKey,
        _ body: BodySummary?
    ) async throws(StoreError) -> [ModifierNumber] {
        let found = try await context.store.read { reader throws(StoreError) in
            try reader.targets.target(scope, id)
        }
        guard let found, found.base.isKnown, id.isEntity || found.base.serverValue == body else {
            return []
        }
        var contents = [id: TargetContent(found.base)]
        var shown: [ModifierNumber] = []
        var later: [EntryID: [Effect]] = [:]
        for change in found.changes.reversed()
        where change.state == .accepted && !change.isAnswered {
            guard
                let (whole, targets) = try await context.store.modifiers.withTargets(change.number),
                let effects = whole.effects
            else { continue }
            for (other, target) in targets where contents[other] == nil {
                contents[other] = TargetContent(target.base)
            }
            let (origins, uid) = (context.origins, scope.scope.uid)
            let isShown = effects.areShown(
                in: { contents[$0] ?? .unknown },
                before: later,
                view: { id, content, effects in
                    let document = id.isEntity ? nil : origins.document(id, for: uid)
                    return document?.view(of: content, effects) ?? View.of(content, effects)
                }
            )
            guard isShown else { continue }
            later.merge(effects) { $1 + $0 }
            shown.append(change.number)
        }
        // The earliest first: without a later modifier, the effects that it undid would show again.
        return shown.reversed()
    }
}
