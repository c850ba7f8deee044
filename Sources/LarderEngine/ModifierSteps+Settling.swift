import LarderJSON
import LarderModel
import LarderNormalize
import LarderStore
import LarderStrategy
import LarderWire
import Logging
import Synchronization

import struct LarderAPI.APIEncoder
import struct LarderAPI.ModifierAnswer
import struct LarderAPI.ModifierStats

extension ModifierSteps {
    func settle(
        _ number: ModifierNumber,
        _ outcome: ModifierQueue.Outcome,
        _ dependants: [ModifierNumber]
    ) async -> ModifierKeeper.Turn {
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
            await Variants.tell(
                departed.variants,
                store.key(for: modifier.scope),
                of: cause,
                in: context
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
            // A read of its documents shows an entity that only effects name.
            for target in modifier.targets where !modifier.implied.contains(target) {
                let waits = departed.waits && store.keepsShared(scope, target)
                if waits { reads.read(target, scope) } else { askAgain(target, scope) }
            }
        }
        attempts.withLock { $0[number] = nil }
        let waits = departed.first?.waits == true
        return { machine, now in
            waits
                ? machine.answerCommitted(number, now: now)
                : machine.settleCommitted(number, now: now)
        }
    }

    private func count(_ whole: WholeModifier, _ fate: ModifierQueue.Outcome) {
        let isRevert = if case .failed = fate { whole.showsSomething } else { false }
        context.meter.count { counts in
            switch fate {
            case .confirmed: counts.modifiers.confirmed += 1
            case .cancelled: counts.modifiers.cancelled += 1
            case .failed:
                counts.modifiers.failed += 1
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
            case .failed(let reason):
                .failed(reason) { [origins = context.origins] id, base in
                    let document = origins.document(id, for: whole.modifier.scope.uid)
                    return whole.lostView(id, base, document)
                }
            case .confirmed: .confirmed(baseUpdate(for: whole))
            }
        var settlement = Settlement(number: number, outcome: fate, answer: answer(to: number))
        settlement.variants = variantRows(of: whole)
        settlement.isShown = isShownByRead(number)
        let last = settlement.answer ?? whole.answer
        settlement.toldAnswer = last.map { $0.told(at: context.clock.now()) } ?? []
        if case .failed(let reason) = outcome {
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
        let origins = context.origins
        let origin = origins.decide(url, for: uid).settings
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
                origins.document(id, for: uid),
                isAsSent: attempted.isAsSent(base, id),
                at: context.clock.now()
            )
        }
    }

    /// The entity as the answer to a write shows it; nil if the answer does not show it.
    private func entity(
        _ id: EntryID,
        _ base: TargetBase,
        _ effect: Effect,
        _ whole: WholeModifier,
        _ answer: ModifierAttempt.Answer,
        _ fetch: Revision?
    ) -> BaseUpdate? {
        let origin = whole.modifier.origin
        guard let name = id.entity, let fetch,
            let path = context.origins[origin]?.settings.path(of: whole.modifier.url)
        else { return nil }
        let rules = context.entityRules(of: origin)
        let splitter = Splitter(rules, bodyBytesMax: Limits.normalizedBodyBytesMax)
        guard case .split(let split) = splitter.split(answer.body, path: path),
            let number = split.keys.firstIndex(of: name.key)
        else { return nil }
        // Members that the answer does not have keep the result of the effect.
        let document = DocumentRules(ofEntity: rules)
        let made = EntityView(base.held, [effect], document) { _ in whole.body }
        let held = made.isComplete ? made.held : base.held
        let merged = split.merged(number, into: held, fetch: fetch.number)
        return BaseUpdate(merged.held, id, origin, answer.at)
    }

    /// Asks the origin for the present value of a target; the answer goes into the cache.
    private func askAgain(_ id: EntryID, _ scope: ScopeKey) {
        guard let (url, origin) = context.address(of: id, in: scope) else { return }
        let request = FetchRequest(FetchOrder(url: url), origin: origin)
        context.board.boardForNobody(request, scope)
    }

    /// Updates the variants of the targets after a confirmed write.
    ///
    /// A variant in the user's own scope gets the result of the write, as its target does. A shared
    /// variant keeps its bytes and is marked stale, so that it is requested again.
    func variantRows(of whole: WholeModifier) -> [VariantRows] {
        let scope = context.store.key(for: whole.modifier.scope)
        return Set(whole.modifier.targets).compactMap { target in
            context.variantPlaces(of: target, scope).map { places in
                VariantRows(in: places) { variant, base in
                    variant.place == scope
                        ? self.settledVariant(variant.id, of: target, base, whole) : .markStale
                }
            }
        }
    }

    private func settledVariant(
        _ id: EntryID,
        of target: EntryID,
        _ base: TargetBase,
        _ whole: WholeModifier
    ) -> BaseUpdate {
        guard let effect = whole.effect(on: target), !isShownByRead(whole.modifier.number),
            let old = base.entry
        else { return .markStale }
        let update = BaseUpdate(
            id,
            effect,
            of: whole,
            on: base,
            context.origins.document(id, for: whole.modifier.scope.uid),
            isAsSent: false,
            at: context.clock.now()
        )
        guard case .put(var entry, let bytes) = update else { return update }
        // `Vary` tells which headers the answer belongs to.
        if let names = old.headers.list("Vary") { entry.headers.set("Vary", names) }
        return .put(entry, bytes)
    }
}

extension StoredAnswer {
    /// The answer as watchers are told it.
    fileprivate func told(at now: Timestamp) -> [UInt8] {
        let body = Array(body.prefix(Limits.toldAnswerBytesMax))
        return APIEncoder().encode(
            ModifierAnswer(status: status, headers: headers, body: body, at: at ?? now)
        )
    }
}

/// The base of a target after a modifier of it was confirmed.
extension BaseUpdate {
    /// The answer to the write is the present value of the target; nil if it cannot be one.
    init?(_ id: EntryID, representedBy answer: ModifierAttempt.Answer, _ origin: OriginSettings) {
        let isJSON = JSONValidator.accepts(answer.body)
        let saysJSON = answer.headers["Content-Type"].map(MediaType.isAnyJSON) ?? false
        guard isJSON || !saysJSON else { return nil }
        let entry = Entry(
            id,
            answer.headers,
            of: origin.name,
            at: answer.at,
            Freshness(answer.headers, settings: origin.fetch, now: answer.at),
            BodySummary(of: answer.body, isJSON: isJSON)
        )
        self = .put(entry, answer.body)
    }

    /// The answer says only that the write was done, so the effect is applied to the present base.
    ///
    /// `isAsSent` is true if the base is the same as when the modifier was sent. Otherwise the
    /// result of a patch is unknown, and so is whether a later read already contains an addition.
    init(
        _ id: EntryID,
        _ effect: Effect,
        of whole: WholeModifier,
        on base: TargetBase,
        _ document: DocumentRules?,
        isAsSent: Bool,
        at now: Timestamp
    ) {
        self = .markStale
        guard isAsSent || !effect.counts else { return }
        let (modifier, values) = (whole.modifier, TargetValues(base, of: id, [effect], document))
        let body: EntityBody?
        switch values.outcome(of: effect) {
        // If nothing is known of a target, a part of it is not a base.
        case .unchanged, .inapplicable, .json(_, isComplete: false): return
        case .json(let value, _) where id.isEntity: body = values.body(value)
        case .json(let value, _):
            let type = base.entry?.mediaType ?? MediaType.json
            self = .made(id, values.bytes(value), type, base, modifier.origin, now)
            return
        case .body where id.isEntity:
            body = (try? JSONValue(parsing: whole.body)).flatMap(values.body)
        case .body:
            self = .made(id, whole.body, modifier.mediaType, base, modifier.origin, now)
            return
        case .deleted where id.isEntity:
            self = BaseUpdate(.deleted(base.held.stamp), id, modifier.origin, now)
            return
        case .deleted:
            self = .tombstone(status: 404)
            return
        }
        guard let body else { return }
        self = BaseUpdate(.present(body, base.held.stamp), id, modifier.origin, now)
    }

    fileprivate init(_ held: HeldEntity, _ id: EntryID, _ origin: OriginName, _ now: Timestamp) {
        self = held.row(id, of: origin, now).map { .put($0.entry, $0.bytes) } ?? .markStale
    }

    /// A base that has no validator that the origin knows, and is stale.
    private static func made(
        _ id: EntryID,
        _ bytes: [UInt8],
        _ mediaType: String?,
        _ base: TargetBase,
        _ origin: OriginName,
        _ now: Timestamp
    ) -> BaseUpdate {
        var entry = Entry(id, base.entry, bytes, mediaType: mediaType, by: [])
        (entry.storedAt, entry.revision, entry.headers) = (now, Revision(0), HeaderFields())
        entry.origin = entry.kind == .blob ? nil : entry.origin ?? origin
        return .put(entry, bytes)
    }
}
