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
    /// `endsWait` is true where a person no longer waits for an answer of the modifier's shared row.
    func settle(
        _ number: ModifierNumber,
        _ outcome: ModifierQueue.Outcome,
        _ joined: [ModifierNumber],
        _ dependants: [ModifierNumber],
        endsWait: Bool = false
    ) async -> ModifierQueueRunner.Turn {
        let (store, clock) = (context.store, context.clock)
        // Modifiers that were answered 202 are settled beneath it.
        let outcomes = { @Sendable (member: ModifierNumber) -> ModifierQueue.Outcome in
            dependants.contains(member) ? outcome.ofDependants : outcome
        }
        var departed: [DepartedModifier] = []
        // A modifier that was answered 202 before a restart may create things, too.
        let createsIDs =
            outcome == .confirmed && attempts.withLock { $0[number]?.createsIDs ?? true }
        await context.retryUntilSuccess("a modifier was not settled") {
            () async throws(StoreError) in
            departed = try await store.modifiers.settle(
                [number] + dependants,
                joined: joined,
                now: clock.now(),
                createsIDs: createsIDs,
                naming: { outcome == .confirmed ? CreatedIDs(self).renaming(of: $1, by: $0) : nil },
                deciding: { whole in
                    let own = whole.modifier.number
                    let sent = joined.contains(own) ? number : own
                    let isLast = sent != number || own == joined.last ?? number
                    var settlement =
                        self.settlement(of: whole, outcomes(own), by: sent, isLast: isLast)
                    settlement.endsWait = endsWait && own == number
                    return settlement
                }
            )
        }
        let deleted = departed.filter { $0.whole.modifier.method == "DELETE" }
            .flatMap(\.whole.modifier.targets)
        for departed in departed where !departed.hasWaited {
            let outcome = outcomes(departed.whole.modifier.number)
            await tell(departed, outcome, deleted: Set(deleted))
        }
        attempts.withLock { attempts in
            attempts[number] = nil
            for departed in departed { attempts[departed.whole.modifier.number] = nil }
        }
        let same = [number] + joined
        let group = Set(dependants + same)
        let waiting = Set(departed.filter(\.waits).map(\.whole.modifier.number))
        let beneath = departed.map(\.whole.modifier.number).filter { !group.contains($0) }
        return { machine, now in
            var actions: [ModifierQueue.Action] = []
            for number in beneath {
                actions +=
                    waiting.contains(number)
                    ? machine.answerCommitted(number, now: now)
                    : machine.answerShown(number, now: now)
            }
            for number in same {
                actions +=
                    waiting.contains(number)
                    ? machine.answerCommitted(number, now: now)
                    : machine.settleCommitted(number, now: now)
            }
            return actions
        }
    }

    /// `deleted` has the targets that the step has perhaps deleted.
    private func tell(
        _ departed: DepartedModifier,
        _ outcomeText: ModifierQueue.Outcome,
        deleted: Set<EntryID>
    ) async {
        let modifier = departed.whole.modifier
        let (scope, cause) = (context.store.key(for: modifier.scope), ChangeCause(modifier))
        await Variants.tell(departed.variants, scope, of: cause, in: context)
        let isRead = outcomeText != .cancelled && !isShownByRead(modifier.number)
        let revision = isRead ? departed.revision : nil
        reads.writeEnded(modifier, in: scope, since: revision, deleted: deleted)
        if !modifier.isAnswered { count(departed.whole, outcomeText) }
        if case .confirmed = outcomeText {
            let (owner, origin) = (modifier.scope, modifier.origin)
            context.watchers.credentialChanged(owner, at: origin, isRefused: false)
        }
    }

    private func count(_ whole: WholeModifier, _ outcomeText: ModifierQueue.Outcome) {
        let isRevert =
            if case .failed = outcomeText { !whole.changedTargets.isEmpty } else { false }
        context.meter.count { counts in
            switch outcomeText {
            case .confirmed: counts.modifiers.confirmed += 1
            case .cancelled: counts.modifiers.cancelled += 1
            case .failed:
                counts.modifiers.failed += 1
                if isRevert { counts.modifiers.reverts += 1 }
            }
        }
    }

    /// `sent` is the modifier whose request made the changes.
    ///
    /// Only the last of those with one request takes the answer for its target.
    private func settlement(
        of whole: WholeModifier,
        _ outcome: ModifierQueue.Outcome,
        by sent: ModifierNumber,
        isLast: Bool
    ) -> Settlement {
        let number = whole.modifier.number
        let outcomeText: Settlement.Outcome =
            switch outcome {
            case .cancelled: .cancelled
            case .failed(let reason):
                .failed(reason) { [origins = context.origins] id, base in
                    let document = origins.document(id, for: whole.modifier.scope.uid)
                    return whole.lostView(id, base, document)
                }
            case .confirmed: .confirmed(baseUpdate(for: whole, by: sent, isLast: isLast))
            }
        var settlement = Settlement(number: number, outcome: outcomeText, answer: answer(to: sent))
        settlement.variants = variantRows(of: whole)
        let isConditional = attempts.withLock { $0[sent]?.isConditional } ?? false
        settlement.reseeing = conflicts.renewal(
            after: whole,
            isConditional: isConditional || whole.modifier.etag != nil,
            isShown: isShownByRead(number)
        )
        settlement.isShown = isShownByRead(number)
        settlement.isReadAgain = outcome != .cancelled && !settlement.isShown
        // A 404 may be a gateway's, or hide the target from an expired token.
        let isDone = (200..<300).contains(settlement.answer?.status ?? 200)
        settlement.isDeletion = whole.modifier.method == "DELETE" && isDone
        settlement.changed = { whole.changedTargets }
        let last = settlement.answer ?? whole.answer
        settlement.toldAnswer = last.map { $0.told(at: context.clock.now()) } ?? []
        if case .failed(let reason) = outcome {
            settlement.theirs = attempts.withLock { $0[number]?.conflict?.theirs } ?? [:]
            settlement.problem = Problem(deadLetter: whole.modifier, reason, last).encoded()
        }
        return settlement
    }

    private func baseUpdate(
        for whole: WholeModifier,
        by sent: ModifierNumber,
        isLast: Bool
    ) -> @Sendable (EntryID, TargetBase) -> BaseUpdate {
        let attempted = attempts.withLock { $0[sent] } ?? Attempted()
        let context = context
        let said = SaidTargets(context, whole, attempted.answer, attempted.verdict)
        // Asked without remembering it: this is called on the writer's thread.
        let (url, uid) = (whole.modifier.url, whole.modifier.scope.uid)
        let origins = context.origins
        let origin = origins.origin(of: url, for: uid)
        return { id, base in
            let effect = whole.effect(on: id) ?? .none
            if isLast, let answer = attempted.answer, answer.mayShowTarget {
                let update: BaseUpdate? =
                    switch attempted.verdict {
                    case .confirmed where id.isEntity:
                        said.entity(id, base, effect, attempted.fetch)
                    case .confirmed(.representation(id))
                    where !base.wasRead(since: answer.at, attempted.fetch):
                        origin.flatMap { BaseUpdate(id, representedBy: answer, $0) }
                    case _: nil
                    }
                if let update { return update }
            }
            guard !attempted.isShownByRead else { return .keep }
            // An effect takes it out of a list, and does not change it.
            if effect == .none, whole.modifier.implied.contains(id) { return .keep }
            return BaseUpdate(
                id,
                effect,
                of: whole,
                on: base,
                origins.document(id, for: uid),
                isAsSent: whole.isSent(on: base, id),
                at: context.clock.now()
            )
        }
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
        guard case .derived(var entry, let bytes) = update else { return update }
        // `Vary` tells which headers the answer belongs to.
        if let names = old.headers.list("Vary") { entry.headers.set("Vary", names) }
        return .derived(entry, bytes)
    }
}

/// The targets whose values the answer to a write gives (case 5).
struct SaidTargets {
    private let context: EngineContext
    private let whole: WholeModifier
    private let answer: ModifierAttempt.Answer?
    private let verdict: ModifierVerdict?

    init(
        _ context: EngineContext,
        _ whole: WholeModifier,
        _ answer: ModifierAttempt.Answer?,
        _ verdict: ModifierVerdict?
    ) {
        (self.context, self.whole) = (context, whole)
        (self.answer, self.verdict) = (answer, verdict)
    }

    /// Whether the answer gives the value of a target.
    func contains(_ id: EntryID) -> Bool {
        guard id.isEntity, answer?.mayShowTarget == true else {
            return verdict == .confirmed(.representation(of: id))
        }
        return split(with: id) != nil
    }

    /// The entity as the answer shows it; nil if the answer does not show it.
    func entity(
        _ id: EntryID,
        _ base: TargetBase,
        _ effect: Effect,
        _ fetch: Revision?
    ) -> BaseUpdate? {
        guard let fetch, let answer, let (split, number) = split(with: id) else { return nil }
        // Members that the answer does not have keep the result of the effect.
        let origin = whole.modifier.origin
        let document = DocumentRules(ofEntity: context.entityRules(of: origin))
        let made = EntityView(base.held, [effect], document) { _ in whole.body }
        let held = made.isComplete ? made.held : base.held
        let merged = split.merged(number, into: held, fetch: fetch.number)
        return BaseUpdate(merged.held, id, origin, answer.at)
    }

    /// The entities of the answer, and the number of one; nil if it is none of them.
    private func split(with id: EntryID) -> (Split, number: Int)? {
        let origin = whole.modifier.origin
        guard let answer, let name = id.entity,
            let path = context.origins[origin]?.settings.path(of: whole.modifier.url)
        else { return nil }
        let rules = context.entityRules(of: origin)
        let splitter = Splitter(rules, bodyBytesMax: Limits.normalizedBodyBytesMax)
        guard case .split(let split) = splitter.split(answer.body, path: path),
            let number = split.keys.firstIndex(of: name.key)
        else { return nil }
        return (split, number)
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
        isAsSent: @autoclosure () -> Bool,
        at now: Timestamp
    ) {
        self = .markStale
        guard !effect.counts || isAsSent() else { return }
        let (modifier, values) = (whole.modifier, TargetValues(base, of: id, [effect], document))
        let body: EntityBody?
        var isWhole = true
        let view = values.view([effect])
        // A deleted target that stays deleted is not deleted again.
        guard view.isChanged else { return }
        switch view.content {
        case .unknown, .base: return
        case .json(let value) where id.isEntity:
            (body, isWhole) = (values.body(value), view.isComplete)
        case .json(let value):
            let type = base.entry?.mediaType ?? MediaType.json
            let bytes = values.bytes(value)
            self = .made(id, bytes, view.isComplete, type, base, modifier.origin, now)
            return
        case .body where id.isEntity:
            body = (try? JSONValue(parsing: whole.body)).flatMap(values.body)
        case .body:
            self = .made(id, whole.body, true, modifier.mediaType, base, modifier.origin, now)
            return
        case .deleted where id.isEntity:
            self = BaseUpdate(.deleted(base.held.stamp), id, modifier.origin, now)
            return
        case .deleted:
            self = .tombstone(status: 404)
            return
        }
        guard let body else { return }
        let held = HeldEntity.present(body, base.held.stamp)
        self = BaseUpdate(held, isComplete: isWhole, id, modifier.origin, now)
    }

    fileprivate init(
        _ held: HeldEntity,
        isComplete: Bool = true,
        _ id: EntryID,
        _ origin: OriginName,
        _ now: Timestamp
    ) {
        guard let row = held.row(id, of: origin, now) else {
            self = .markStale
            return
        }
        var entry = row.entry
        entry.isComplete = isComplete
        self = .put(entry, row.bytes)
    }

    /// A base that has no validator that the origin knows, and is stale.
    private static func made(
        _ id: EntryID,
        _ bytes: [UInt8],
        _ isComplete: Bool,
        _ mediaType: String?,
        _ base: TargetBase,
        _ origin: OriginName,
        _ now: Timestamp
    ) -> BaseUpdate {
        var entry = Entry(id, base.entry, bytes, mediaType: mediaType, by: [])
        (entry.storedAt, entry.revision, entry.headers) = (now, Revision(0), HeaderFields())
        entry.origin = entry.kind == .blob ? nil : entry.origin ?? origin
        entry.isComplete = isComplete
        return .derived(entry, bytes)
    }
}
