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
        await untilDone("a modifier was not settled") { () async throws(StoreError) in
            var settlements: [Settlement] = []
            var reverting: Set<ModifierNumber> = []
            var modifier: StoredModifier?
            var asked: [(ScopeKey, EntryID)] = []
            var varied: [VariedTarget] = []
            for (member, fate) in [(number, outcome)]
                + dependants.map({ ($0, outcome.ofDependants) })
            {
                guard let whole = try await self.context.store.modifiers.whole(member) else {
                    continue
                }
                let targets = await self.variedTargets(of: whole)
                varied += targets
                settlements.append(self.settlement(of: whole, fate, targets))
                if whole.showsSomething { reverting.insert(member) }
                if member == number { modifier = whole.modifier }
                guard fate != .cancelled, !self.isShownByRead(member) else { continue }
                let scope = self.context.store.key(for: whole.modifier.scope)
                asked += whole.modifier.targets.map { (scope, $0) }
            }
            let now = self.context.clock.now()
            let receipt = try await self.context.store.modifiers.settle(settlements, now: now)
            for target in varied { await self.tellVariants(of: target) }
            for settlement in settlements where receipt.settled.contains(settlement.number) {
                self.count(settlement, reverting.contains(settlement.number))
            }
            for (scope, id) in asked { self.askAgain(id, scope) }
            if case .confirmed = outcome, let modifier {
                self.context.watchers.credentialChanged(
                    modifier.scope,
                    at: modifier.origin,
                    isRefused: false
                )
            }
        }
        attempts.withLock { $0[number] = nil }
        return .settleCommitted(number)
    }

    private func count(_ settlement: Settlement, _ showsSomething: Bool) {
        switch settlement.outcome {
        case .confirmed: context.meter.modifierConfirmed()
        case .cancelled: context.meter.modifierCancelled()
        case .dead: context.meter.modifierDied(isRevert: showsSomething)
        }
    }

    private func settlement(
        of whole: WholeModifier,
        _ outcome: ModifierQueue.Outcome,
        _ varied: [VariedTarget]
    ) -> Settlement {
        let number = whole.modifier.number
        let fate: Settlement.Outcome =
            switch outcome {
            case .cancelled: .cancelled
            case .dead(let reason): .dead(reason, LostViews(whole).view)
            case .confirmed: .confirmed(baseUpdate(for: whole))
            }
        var settlement = Settlement(number: number, outcome: fate, answer: answer(to: number))
        settlement.variants = varied.flatMap(settledVariants)
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
        var effects: [EntryID: Effect] = [:]
        for change in whole.changes { effects[change.id] = try? Effect(parsing: change.effect) }
        let known = effects
        let (context, origin) = (context, origin(of: whole.modifier))
        return { id, base in
            if id.isEntity {
                let settled = self.settledEntity(id, base, known[id] ?? .none, whole, attempted)
                return settled.map(BaseUpdate.init) ?? .keep
            }
            if case .confirmed(.representation(id)) = attempted.verdict,
                let answer = attempted.answer, let origin,
                let settled = SettledBase(id, representedBy: answer, origin)
            {
                return BaseUpdate(settled)
            }
            guard !attempted.isShownByRead else { return .keep }
            let settled = SettledBase(
                id,
                known[id] ?? .none,
                on: base,
                body: whole.body,
                mediaType: whole.modifier.mediaType,
                isPatchable: base.said == attempted.bases[id],
                whole.modifier.origin,
                at: context.clock.now()
            )
            return BaseUpdate(settled)
        }
    }

    /// What an entity is once a modifier of it was confirmed; nil where it stays what it is.
    private func settledEntity(
        _ id: EntryID,
        _ base: TargetBase,
        _ effect: Effect,
        _ whole: WholeModifier,
        _ attempted: Attempted
    ) -> SettledBase? {
        let origin = whole.modifier.origin
        let made = EntityView(base.held, [effect]) { _ in whole.body }
        if case .confirmed = attempted.verdict, let answer = attempted.answer,
            let fetch = attempted.fetch,
            let path = context.origins[origin]?.settings.path(of: whole.modifier.url),
            let settled = SettledBase(
                id,
                shownBy: answer,
                context.entityRules(of: origin),
                path: path,
                on: made.isComplete ? made.held : base.held,
                fetch: fetch,
                origin
            )
        {
            return settled
        }
        guard !attempted.isShownByRead else { return nil }
        return SettledBase(
            id,
            effect,
            onEntity: base,
            body: whole.body,
            isPatchable: base.said == attempted.bases[id],
            origin,
            at: context.clock.now()
        )
    }

    /// Has the origin say what a target is now; what comes of it lands in the cache.
    private func askAgain(_ id: EntryID, _ scope: ScopeKey) {
        let address: (url: WebURL, origin: OriginSettings)?
        if let name = id.entity {
            address = context.ownURL(of: name)
        } else if id.text.contains("://"), let url = try? WebURL(id.text), url.text == id.text {
            address = (try? context.origin(of: url, in: scope)).map { (url, $0) }
        } else {
            address = nil
        }
        guard let (url, origin) = address else { return }
        let request = FetchRequest(FetchCommand(url: url), origin: origin)
        board.boardForNobody(request, scope)
    }
}

extension BaseUpdate {
    init(_ settled: SettledBase) {
        switch settled {
        case .stale: self = .markStale
        case .value(let entry, let bytes): self = .put(entry, bytes)
        case .deleted(let entry): self = .tombstone(status: entry.status)
        case .entity(let entry, let bytes): self = .put(entry, bytes)
        }
    }
}
