import LarderJSON
import LarderModel
import LarderNormalize
import LarderStore
import LarderStrategy
import LarderWire
import Logging
import Synchronization

/// How modifiers leave the queue: what the last thing that the server said is from then on.
extension ModifierSteps {
    func settle(
        _ number: ModifierNumber,
        _ outcome: ModifierQueue.Outcome,
        _ dependants: [ModifierNumber]
    ) async -> ModifierKeeper.Event? {
        let (store, clock) = (context.store, context.clock)
        var departed: [DepartedModifier] = []
        await context.untilDone("a modifier was not settled") { () async throws(StoreError) in
            departed = try await store.modifiers.settle(
                [number] + dependants,
                now: clock.now()
            ) { whole in
                let isFirst = whole.modifier.number == number
                return self.settlement(of: whole, isFirst ? outcome : outcome.ofDependants)
            }
        }
        for departed in departed {
            let modifier = departed.whole.modifier
            let fate = modifier.number == number ? outcome : outcome.ofDependants
            let cause = ChangeCause(modifier)
            await context.tellVariants(
                departed.variants,
                store.key(for: modifier.scope),
                of: cause
            )
            if !modifier.isAnswered { count(departed.whole, fate) }
            if case .confirmed = fate {
                context.watchers.credentialChanged(
                    modifier.scope,
                    at: modifier.origin,
                    isRefused: false
                )
            }
            guard fate != .cancelled, !isShownByRead(modifier.number) else { continue }
            let scope = store.key(for: modifier.scope)
            for target in modifier.targets { askAgain(target, scope) }
        }
        attempts.withLock { $0[number] = nil }
        return departed.first?.waits == true ? .answerCommitted(number) : .settleCommitted(number)
    }

    private func count(_ whole: WholeModifier, _ fate: ModifierQueue.Outcome) {
        let isRevert = if case .dead = fate { whole.showsSomething } else { false }
        context.meter.count { counts in
            switch fate {
            case .confirmed: counts.modifiers.confirmed += 1
            case .cancelled: counts.modifiers.cancelled += 1
            case .dead:
                counts.modifiers.dead += 1
                if isRevert { counts.modifiers.reverts += 1 }
            }
        }
    }

    private func settlement(
        of whole: WholeModifier,
        _ outcome: ModifierQueue.Outcome
    ) -> Settlement {
        let number = whole.modifier.number
        let fate: Settlement.Outcome =
            switch outcome {
            case .cancelled: .cancelled
            case .dead(let reason): .dead(reason, whole.lostView)
            case .confirmed: .confirmed(baseUpdate(for: whole))
            }
        var settlement = Settlement(number: number, outcome: fate, answer: answer(to: number))
        settlement.variants = variantRows(of: whole)
        settlement.isShown = isShownByRead(number)
        if case .dead(let reason) = outcome {
            let last = settlement.answer ?? whole.answer
            settlement.problem = Problem(deadLetter: whole.modifier, reason, last).encoded()
        }
        return settlement
    }

    private func baseUpdate(
        for whole: WholeModifier
    ) -> @Sendable (EntryID, TargetBase) -> BaseUpdate {
        let attempted = attempts.withLock { $0[whole.modifier.number] } ?? Attempted()
        let context = context
        // Asked without remembering it: this is called on the writer's thread.
        let (url, uid) = (whole.modifier.url, whole.modifier.scope.uid)
        let origin = context.origins.decide(url, for: uid).settings
        return { id, base in
            let effect = whole.effect(on: id) ?? .none
            if let answer = attempted.answer, answer.mayShowTarget {
                let said: BaseUpdate? =
                    switch attempted.verdict {
                    case .confirmed where id.isEntity:
                        self.entity(id, base, effect, whole, answer, attempted.fetch)
                    case .confirmed(.representation(id)):
                        origin.flatMap { BaseUpdate(id, representedBy: answer, $0) }
                    case _: nil
                    }
                if let said { return said }
            }
            guard !attempted.isShownByRead else { return .keep }
            return BaseUpdate(
                id,
                effect,
                of: whole,
                on: base,
                isAsSent: attempted.isAsSent(base, id),
                at: context.clock.now()
            )
        }
    }

    /// What the answer to a write says that an entity is; nil where it says nothing of it.
    private func entity(
        _ id: EntryID,
        _ base: TargetBase,
        _ effect: Effect,
        _ whole: WholeModifier,
        _ answer: ModifierAttempt.Answer,
        _ fetch: Revision?
    ) -> BaseUpdate? {
        let origin = whole.modifier.origin
        guard let fetch, let path = context.origins[origin]?.settings.path(of: whole.modifier.url)
        else { return nil }
        let made = EntityView(base.held, [effect]) { _ in whole.body }
        return BaseUpdate(
            id,
            shownBy: answer,
            context.entityRules(of: origin),
            path: path,
            on: made.isComplete ? made.held : base.held,
            fetch: fetch,
            origin
        )
    }

    /// Reads the shared rows again for which confirmed writes wait, of one origin or all: after a start, and
    /// once the origin can be asked again (case 29).
    func readAnswered(at origin: OriginName? = nil) async {
        let store = context.store
        guard (store.modifiers.totals.byState[.accepted] ?? 0) > 0 else { return }
        do throws(StoreError) {
            for record in try await records.found(after: nil).records where record.isAnswered {
                guard origin.map({ $0 == record.origin }) ?? true else { continue }
                let scope = store.key(for: record.scope)
                for case .id(let id) in record.lanes where store.keepsShared(scope, id) {
                    askAgain(id, scope)
                }
            }
        } catch {
            // Whoever reads the row next has it read again, as it is stale.
            context.note("the modifiers were not read", error)
        }
    }

    /// Has the origin say what a target is now; what comes of it lands in the cache.
    private func askAgain(_ id: EntryID, _ scope: ScopeKey) {
        guard let (url, origin) = context.address(of: id, in: scope) else { return }
        let request = FetchRequest(FetchCommand(url: url), origin: origin)
        context.board.boardForNobody(request, scope)
    }
}
