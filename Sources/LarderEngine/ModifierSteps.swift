import LarderJSON
import LarderModel
import LarderNormalize
import LarderStore
import LarderStrategy
import LarderWire
import Logging
import Synchronization

import struct LarderAPI.ModifierStats

/// Carries out the decisions of a ``ModifierQueue``: the durable steps, and the sending between
/// them.
///
/// A step that cannot be written is retried until it is. The result of a sent modifier is never
/// forgotten.
final class ModifierSteps: Sendable {
    let context: EngineContext
    let records: ModifierRecords
    let reads: ReadsAfterWrites
    var conflicts: Conflicts { Conflicts(context: context) }
    /// Attempts in flight, and attempts to be settled; guarded by its lock.
    let attempts = Mutex<[ModifierNumber: Attempted]>([:])

    init(_ context: EngineContext) {
        self.context = context
        records = ModifierRecords(context: context)
        reads = ReadsAfterWrites(context)
    }

    func perform(_ action: ModifierQueue.Action) async -> ModifierQueueRunner.Turn? {
        switch action {
        case .commitSend(let number, let followers): await commitSend(number, followers)
        case .send(let number): await send(number)
        case .changeState(let number, let change): await write(number, change)
        case .settle(let number, let outcome, let joined, let dependants):
            await settle(number, outcome, joined, dependants)
        case .endWait(let number):
            await settle(number, .confirmed, [], [], endsWait: true)
        case .probe(let origin): await probe(origin)
        }
    }

    private func probe(_ origin: OriginName) async -> ModifierQueueRunner.Turn? {
        let wasOnline = context.health[origin]?.state == .online
        await context.originStates.probe(origin)
        // An answer that came before the queue heard of the portal told it nothing.
        guard wasOnline, context.health[origin]?.state == .online else { return nil }
        return { [context] in
            $0.originAnswered(origin, randomUnit: context.randomUnit(), now: $1)
        }
    }

    // MARK: Sending

    private func commitSend(
        _ number: ModifierNumber,
        _ followers: [ModifierNumber]
    ) async -> ModifierQueueRunner.Turn? {
        do throws(StoreError) {
            var departing = try await self.departing(number, followers)
            if let found = departing, found.decision == .look {
                switch await conflicts.readBeforeRound(found.whole) {
                case .notRead(let turn): return turn ?? sendNotCommitted(number)
                case .read(let read):
                    departing = try await self.departing(number, followers, after: read)
                }
            }
            guard let departing else { return nil }
            let joined = departing.joined.map(\.modifier.number)
            switch departing.decision {
            case .look, .part: return sendNotCommitted(number)
            case .needless: return { $0.sendNeedless(number, joined: joined, now: $1) }
            case .stop(let theirs):
                var stopped = Attempted()
                stopped.conflict = conflicts.finding(on: departing.whole, theirs)
                attempts.withLock { [stopped] in $0[number] = stopped }
                let step = conflicts.step(of: departing.whole.modifier)
                return { $0.sendConflicted(number, step, now: $1) }
            case .send:
                let attempted = Attempted(departing)
                attempts.withLock { attempts in
                    let hadLonePage = attempts[number]?.hasLonePage ?? false
                    attempts[number] = attempted
                    attempts[number]?.hasLonePage = hadLonePage
                }
                let sent = departing.whole.modifier
                let resends = records.resends(sent)
                return {
                    $0.sendCommitted(
                        number,
                        joined: joined,
                        resends: resends,
                        isConditional: sent.etag != nil,
                        now: $1
                    )
                }
            }
        } catch .missingID {
            // A person decides about what names a thing that has no id (case 16).
            return { $0.sendConflicted(number, .wait, now: $1) }
        } catch {
            context.note("a modifier was not sent", error)
            return sendNotCommitted(number)
        }
    }

    private func departing(
        _ number: ModifierNumber,
        _ followers: [ModifierNumber],
        after read: Conflicts.PlainRead? = nil
    ) async throws(StoreError) -> DepartingModifier? {
        let (conflicts, coalescing) = (conflicts, Coalescing(context: context))
        return try await context.store.modifiers.send(
            number,
            deciding: { conflicts.decision(on: $0, after: read) },
            joining: { first throws(StoreError) in try coalescing.joined(followers, first) }
        )
    }

    private func sendNotCommitted(_ number: ModifierNumber) -> ModifierQueueRunner.Turn {
        { [context] in $0.sendNotCommitted(number, randomUnit: context.randomUnit(), now: $1) }
    }

    private func send(_ number: ModifierNumber) async -> ModifierQueueRunner.Turn? {
        guard let departing = attempts.withLock({ $0[number]?.takeDeparting() }) else {
            return nil
        }
        let (whole, createsIDs) = (departing.whole, departing.createsIDs)
        let scope = context.store.key(for: whole.modifier.scope)
        guard let origin = try? context.origin(of: whole.modifier.url, in: scope) else {
            // The origin was removed, and may be added again.
            return attemptEnded(number, .neverLeft, ModifierRules())
        }
        guard whole.modifier.credential?.isMet(by: origin.credentialKind) ?? true else {
            context.credentials.noteMissing(whole.modifier.scope, at: origin)
            context.logger.noteFailure(of: whole.modifier, .noCredential, status: nil)
            return attemptEnded(number, .noCredential, origin.modifiers)
        }
        guard !whole.namesTemporaryID else {
            return attemptEnded(number, .refused, origin.modifiers)
        }
        let first = whole.changes.first.flatMap { departing.bases[$0.id] }
        let request = ModifierRequest(whole.modifier, on: first ?? .unknown, context)
        let attempt = ModifierAttempt(
            context: context,
            scope: whole.modifier.scope,
            origin: origin,
            facts: request,
            headers: whole.modifier.headers(for: origin),
            body: whole.body.isEmpty && whole.modifier.mediaType == nil ? nil : whole.body,
            isRepeatable: request.resends(whole.modifier, origin.modifiers),
            createsIDs: createsIDs,
            hadLonePage: attempts.withLock { $0[number]?.hasLonePage ?? false }
        )
        guard var end = await attempt.run() else { return nil }
        if end.verdict != .neverLeft { context.meter.count { $0.modifiers.attempts += 1 } }
        context.logger.noteFailure(of: whole.modifier, end.verdict, status: end.answer?.status)
        let isPortals = end.verdict == .captive
        if let answer = end.answer, whole.modifier.isRepeat || answer.isToRepeat {
            end.verdict = ModifierRequest.ofRepeat(
                end.verdict,
                status: answer.status,
                isHonoured: origin.modifiers.idempotency.isHonoured,
                isOfUpstream: answer.isToRepeat
            )
            if answer.status == 412 {
                // The first sending may have changed the resource, so that If-Match fails now.
                let check = EffectCheck(
                    context: context,
                    group: [whole] + departing.joined,
                    bases: departing.bases.compactMapValues(\.serverValue)
                )
                guard let verdict = await check.verdict() else { return nil }
                end.verdict = verdict
            }
        }
        guard let conflict = await conflicts.finding(on: whole, end) else { return nil }
        end.verdict = conflict.verdict
        let fetch = try? context.store.nextRevision()
        let kept = origin.modifiers.kept(end.answer?.headers.endToEnd ?? HeaderFields())
        attempts.withLock {
            $0[number]?.ended(end, isPortals: isPortals, kept, conflict, fetch)
        }
        await noteApplied(departing, end)
        return attemptEnded(number, end.verdict, origin.modifiers)
    }

    /// Makes answers out of date that are on their way, and those of other URLs than targets stale.
    ///
    /// After a 202, and without a clear answer, the URL may have changed, too (RFC 9111 4.4).
    private func noteApplied(
        _ departing: DepartingModifier,
        _ end: ModifierAttempt.End
    ) async {
        let modifier = departing.whole.modifier
        let written = WrittenURL(modifier.url, by: modifier, context)
        switch end.verdict {
        case .confirmed:
            for whole in [departing.whole] + departing.joined {
                let said = SaidTargets(context, whole, end.answer, end.verdict)
                await context.reads.fence(whole, said, context)
            }
            await written?.invalidate()
        case .accepted, .unclear:
            await written?.markStale()
        case .notNow, .serverFailed, .refused, .conflict, .authNeeded, .noCredential, .captive,
            .neverLeft:
            return
        }
        await WrittenURL.markStale(namedBy: end.answer, to: modifier, context)
    }

    private func attemptEnded(
        _ number: ModifierNumber,
        _ verdict: ModifierVerdict,
        _ rules: ModifierRules
    ) -> ModifierQueueRunner.Turn {
        { [context] in
            $0.attemptEnded(
                number,
                verdict,
                rules: rules,
                randomUnit: context.randomUnit(),
                now: $1
            )
        }
    }

    // MARK: Reads

    /// The origin's answer shows the effect of a modifier.
    ///
    /// Base stays as it is when the modifier is settled.
    func readConfirmed(
        _ number: ModifierNumber,
        _ machine: inout ModifierQueue,
        now: Duration
    ) -> [ModifierQueue.Action] {
        let actions = machine.readConfirmed(number, now: now)
        if !actions.isEmpty {
            attempts.withLock { $0[number, default: Attempted()].isShownByRead = true }
        }
        return actions
    }

    func isShownByRead(_ number: ModifierNumber) -> Bool {
        attempts.withLock { $0[number]?.isShownByRead ?? false }
    }

    // MARK: Rows

    private func write(
        _ number: ModifierNumber,
        _ change: ModifierQueue.Change
    ) async -> ModifierQueueRunner.Turn {
        let now = (wall: context.clock.now(), boot: context.clock.boot.monotonic())
        var update = ModifierUpdate(
            number: number,
            state: change.state,
            nextAttemptAt: change.until.map { now.wall.advanced(by: $0 - now.boot) },
            attempts: change.attempts,
            answersNotApplied: change.answersNotApplied,
            isStalled: change.isStalled,
            isPerhapsApplied: change.isPerhapsApplied
        )
        update.answer = answer(to: number)
        update.round = change.round
        if change.state == .conflict, let found = attempts.withLock({ $0[number]?.conflict }) {
            (update.theirs, update.conflict) = (found.theirs, found.told)
        }
        let ready = update
        var transition: ModifierTransition?
        await context.retryUntilSuccess("a modifier's state was not written") {
            () async throws(StoreError) in
            transition = try await self.context.store.modifiers.update(ready)
        }
        attempts.withLock { $0[number]?.forgetAnswer() }
        let isRefused = transition?.to == .authWait
        if let transition, isRefused || transition.from == .authWait {
            let (scope, origin) = (transition.scope, transition.origin)
            context.watchers.credentialChanged(scope, at: origin, isRefused: isRefused)
        }
        return { $0.changeCommitted(number, now: $1) }
    }

    func answer(to number: ModifierNumber) -> StoredAnswer? {
        attempts.withLock { $0[number]?.keptAnswer }
    }
}

extension StoredModifier {
    var lanes: [Lane] { targets.map { .id($0) } + (lane.map { [.name($0)] } ?? []) }

    /// The key that every attempt of one round carries (P-05).
    package var idempotencyKey: String {
        let first = key ?? id.text
        return round > 1 ? "\(first).\(round)" : first
    }

    func headers(for origin: OriginSettings) -> HeaderFields {
        var headers = typedHeaders
        headers.set(origin.modifiers.idempotency.header, idempotencyKey)
        return headers
    }

    var typedHeaders: HeaderFields {
        var headers = headers
        if let mediaType { headers.set("Content-Type", mediaType) }
        if let etag { headers.set("If-Match", etag) }
        return headers
    }
}

extension Logger {
    /// Logs that the origin refused a write or put it off.
    ///
    /// A write of which no byte left is not logged here: the origin is down, and its state is
    /// logged.
    fileprivate func noteFailure(
        of modifier: StoredModifier,
        _ verdict: ModifierVerdict,
        status: Int?
    ) {
        let outcomeText: String
        switch verdict {
        case .confirmed, .accepted, .neverLeft: return
        case .notNow, .serverFailed: outcomeText = "put off"
        case .refused: outcomeText = "refused"
        case .conflict: outcomeText = "answered with another version"
        case .authNeeded: outcomeText = "refused for its credential"
        case .noCredential: outcomeText = "without its credential"
        case .unclear: outcomeText = "without a clear answer"
        case .captive: outcomeText = "answered by a captive portal"
        }
        notice(
            "a write was not confirmed",
            metadata: .larder([
                .id: "\(modifier.id)", .origin: "\(modifier.origin)",
                .uid: "\(modifier.scope.uid ?? 0)", .state: "\(outcomeText)",
                .reason: "\(status.map { "\($0)" } ?? "no answer")",
            ])
        )
    }
}
