import LarderJSON
import LarderModel
import LarderStore
import LarderStrategy
import LarderWire
import Logging
import Synchronization

import struct LarderAPI.ModifierStats

struct ModifierRecords: Sendable {
    let context: EngineContext

    struct FoundRecords {
        var records: [ModifierRecord] = []
        var unreadable: [ModifierNumber] = []
        var last: ModifierNumber?
    }

    /// Restores the queue from `state.db`, and returns the highest number found there.
    ///
    /// Until `state.db` can be read, no modifier is sent.
    func restore(
        _ machine: inout ModifierQueue,
        _ group: inout DiscardingTaskGroup
    ) async -> ([ModifierQueue.Action], last: ModifierNumber?) {
        var found = FoundRecords()
        var paused: [(scope: Scope, lane: Lane)] = []
        var failed: Set<ModifierNumber> = []
        await context.retryUntilSuccess("the modifiers were not read") {
            () async throws(StoreError) in
            try await self.context.store.modifiers.correctMoments(now: self.context.clock.now())
            found = try await self.found(after: nil, isStart: true)
            paused = try await self.context.store.modifiers.pausedLanes()
            failed = Set(found.unreadable)
            let open = Set(found.records.map(\.number))
            for parent in Set(found.records.flatMap(\.dependsOn)).subtracting(open) {
                // A child of one that was cancelled or dropped must not be sent, also where the
                // crash came between their settle steps.
                if try await self.context.store.modifiers.hasFailed(parent) {
                    failed.insert(parent)
                }
            }
        }
        moveToDeadLetters(found.unreadable, &group)
        let (limits, now) = (context.origins, context.clock.boot.monotonic())
        var actions: [ModifierQueue.Action] = []
        // First, or writes that may not leave would be sent: after a kill some need a person then.
        for name in context.offline.withLock({ $0 }) {
            actions += machine.originSetOffline(name, now: now)
        }
        actions += machine.restored(
            found.records,
            failed: failed,
            paused: paused,
            acceptedLimit: { limits[$0]?.settings.modifiers.acceptedLimit ?? .zero },
            now: now,
            wall: context.clock.now(),
            retryAfterEnd: { context.originStates.queueRetryAfterEnd(of: $1, at: $0) }
        )
        // The configuration may have another credential than before.
        let refused = found.records.filter { $0.state == .authWait }.map(\.origin)
        for name in Set(refused).sorted() {
            actions += machine.credentialChanged(at: name, of: nil, now: now)
        }
        return (actions, found.last)
    }

    /// Notes the clocks at the end, because the next start counts from there.
    func noteClocks() async {
        do throws(StoreError) {
            try await context.store.modifiers.noteClocks(now: context.clock.now())
        } catch {
            context.note("the clocks were not noted", error)
        }
    }

    /// The records on disk after a number, in their order.
    ///
    /// At the start the effects are checked too, as another version may have written them.
    func found(
        after last: ModifierNumber?,
        isStart: Bool = false
    ) async throws(StoreError) -> FoundRecords {
        let isKnown: @Sendable ([UInt8]) -> Bool = { (try? Effect(parsing: $0)) != nil }
        var all = FoundRecords()
        all.last = last
        while true {
            let page = try await context.store.modifiers.unsettled(
                after: all.last,
                isKnown: isStart ? isKnown : nil
            )
            guard let end = page.last else { return all }
            all.last = end.number
            for found in page {
                switch found {
                case .readable(let modifier):
                    var record = record(of: modifier)
                    if modifier.state == .conflict, record.endsConflict {
                        record.endsConflict = await endsConflict(of: modifier)
                    }
                    if modifier.state == .queued, let first = modifier.joinedInto {
                        let scope = context.store.key(for: modifier.scope)
                        record.joinedInto =
                            try await context.store.modifiers.number(first, of: scope)
                    }
                    all.records.append(record)
                case .unreadable(let number): all.unreadable.append(number)
                }
            }
        }
    }

    /// Whether the origin's rule, as it is now, ends a conflict that is on disk.
    ///
    /// No rule ends the wait for an id (case 16), where no value and no answer tells of a conflict.
    private func endsConflict(of modifier: StoredModifier) async -> Bool {
        let rules = context.origins[modifier.origin]?.settings.modifiers ?? ModifierRules()
        let match: ModifierRules.MatchRule = modifier.ifMatch ?? rules.ifMatch
        do throws(StoreError) {
            let whole = try await context.store.modifiers.whole(modifier.number, bodyBytesMax: 0)
            let changes = whole?.changes ?? []
            let hasAnswer = modifier.answerStatus.map { [409, 412, 428].contains($0) } ?? false
            guard hasAnswer || changes.contains(where: { $0.theirs != nil }) else { return false }
            let isChanged = match != .none && changes.contains(where: \.isMet)
            return ConflictRules(of: modifier, rules).endsConflict(isChanged: isChanged)
        } catch {
            context.note("the modifiers were not read", error)
            return false
        }
    }

    /// Makes dead letters of unreadable modifiers, while the others go on.
    func moveToDeadLetters(_ unreadable: [ModifierNumber], _ group: inout DiscardingTaskGroup) {
        for number in unreadable {
            group.addTask {
                await self.context.retryUntilSuccess("an unreadable modifier was not settled") {
                    () async throws(StoreError) in
                    try await self.context.store.modifiers.failUnreadable(
                        [number],
                        problem: Problem.unreadableModifier.encoded(),
                        now: self.context.clock.now()
                    )
                    self.context.meter.count { $0.modifiers.failed += 1 }
                }
                self.context.modifiers.settlements.tell()
            }
        }
    }

    /// A record with its present lanes: a target may have got its real id since it was made.
    func current(_ record: ModifierRecord) -> ModifierRecord {
        var current = record
        let scope = context.store.key(for: record.scope)
        current.lanes = record.lanes.map { lane in
            guard case .id(let id) = lane else { return lane }
            return .id(context.store.modifiers.current(id, in: scope))
        }
        return current
    }

    /// Whether a modifier is sent again after no clear answer.
    func resends(_ modifier: StoredModifier) -> Bool {
        let rules = context.origins[modifier.origin]?.settings.modifiers ?? ModifierRules()
        return ModifierRequest(modifier, on: .unknown, context).resends(modifier, rules)
    }

    func record(of modifier: StoredModifier) -> ModifierRecord {
        let rules = context.origins[modifier.origin]?.settings.modifiers ?? ModifierRules()
        var record = ModifierRecord(
            number: modifier.number,
            scope: modifier.scope,
            origin: modifier.origin,
            lanes: modifier.lanes,
            resends: resends(modifier)
        )
        record.holds = (modifier.afterUnknown ?? rules.afterUnknown) == .hold
        if rules.coalesce != .none, !modifier.hasOwnCondition {
            record.mayLead = modifier.method != "DELETE"
            record.mayFollow = ["PUT", "PATCH", "DELETE"].contains(modifier.method)
        }
        record.endsConflict = ConflictRules(of: modifier, rules).endsConflict(isChanged: false)
        record.dependsOn = modifier.dependsOn
        record.acceptedAt = modifier.acceptedAt
        record.answeredAt = modifier.answerAt
        record.holdUntil = modifier.holdUntil
        record.expiresAt = modifier.expiresAt
        record.attemptsMax = modifier.attemptsMax
        record.state = modifier.state
        record.isAnswered = modifier.isAnswered
        record.attempts = modifier.attempts
        record.answersNotApplied = modifier.answersNotApplied
        record.isStalled = modifier.isStalled
        record.nextAttemptAt = modifier.nextAttemptAt
        record.mayHaveLeft = modifier.mayHaveLeft
        record.isPerhapsApplied = modifier.isPerhapsApplied
        return record
    }
}

extension ConflictRules {
    init(of modifier: StoredModifier, _ defaults: ModifierRules) {
        self.init(modifier.onConflict ?? defaults.onConflict)
        hasOwnCondition = modifier.hasOwnCondition
        rounds = modifier.conflicts + 1
    }
}

extension StoredChange {
    /// Whether a conflict shows other values than the modifier saw, or an edit has replaced them.
    fileprivate var isMet: Bool {
        guard let seen else { return false }
        return theirs.flatMap { TouchedValues(parsing: $0) }.map { !seen.has($0) } ?? true
    }
}

extension ModifierRequest {
    /// Whether a modifier is sent again after no clear answer, by the rules of its origin.
    func resends(_ modifier: StoredModifier, _ rules: ModifierRules) -> Bool {
        resends(
            modifier.afterUnknown ?? rules.afterUnknown,
            isHonoured: rules.idempotency.isHonoured
        )
    }

    init(_ modifier: StoredModifier, on base: TargetBase, _ context: EngineContext) {
        let origin = context.origins[modifier.origin]?.settings
        self.init(
            method: modifier.method,
            url: modifier.url,
            headers: modifier.typedHeaders,
            targets: modifier.targets,
            implied: modifier.implied,
            baseIsJSON: base.isJSON,
            baseIsHTML: base.isHTML,
            hasPages: context.health[modifier.origin]?.hasPages ?? false,
            expect: origin?.modifiers.expect,
            redirectHosts: origin?.redirectHosts ?? [],
            secrets: Set(origin?.headers.fields.map { $0.name.lowercased() } ?? [])
        )
    }
}

extension OriginStates {
    /// Until when an origin has told an account to wait, on the clock of the queue.
    func queueRetryAfterEnd(of scope: Scope, at name: OriginName) -> Duration? {
        context.health[name]?.retryAfterEnd(of: scope, now: clock.monotonic())
            .map { clock.bootMoment(of: $0) }
    }
}
