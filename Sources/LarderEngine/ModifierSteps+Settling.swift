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
        await retrying.untilDone("a modifier was not settled") { () async throws(StoreError) in
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
            await tellVariants(of: departed)
            count(departed.whole, fate)
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
        return .settleCommitted(number)
    }

    private func count(_ whole: WholeModifier, _ fate: ModifierQueue.Outcome) {
        switch fate {
        case .confirmed: context.meter.modifierConfirmed()
        case .cancelled: context.meter.modifierCancelled()
        case .dead: context.meter.modifierDied(isRevert: whole.showsSomething)
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
            case .dead(let reason): .dead(reason, LostViews(whole).view)
            case .confirmed: .confirmed(baseUpdate(for: whole))
            }
        var settlement = Settlement(number: number, outcome: fate, answer: answer(to: number))
        settlement.variants = variantRows(of: whole)
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
        let context = context
        // Nothing is remembered of it here, on the writer's thread.
        let (url, uid) = (whole.modifier.url, whole.modifier.scope.uid)
        let origin = context.origins.decide(url, for: uid).settings
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
