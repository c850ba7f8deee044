import LarderJSON
import LarderModel
import LarderStore
import Logging

/// What becomes of the variants of a target when its modifier leaves the queue.
///
/// They are no targets: what of this cannot be done, as the cache cannot be read or written, keeps
/// no modifier from being settled.
extension ModifierSteps {
    /// A target with its variants, and the modifier that is to be settled.
    struct VariedTarget {
        let whole: WholeModifier
        let target: EntryID
        let variants: [EngineContext.Variant]
        let isConfirmed: Bool
    }

    /// To be called before the modifier is settled, so that no crash leaves a variant fresh that is
    /// older than a confirmed write.
    func variedTargets(of whole: WholeModifier, isConfirmed: Bool) async -> [VariedTarget] {
        let scope = context.store.key(for: whole.modifier.scope)
        var found: [VariedTarget] = []
        do throws(StoreError) {
            for id in Set(whole.modifier.targets) {
                let variants = try await context.variants(of: id, scope)
                guard !variants.isEmpty else { continue }
                if isConfirmed { try await context.markStale(variants, scope) }
                found.append(
                    VariedTarget(
                        whole: whole,
                        target: id,
                        variants: variants,
                        isConfirmed: isConfirmed
                    )
                )
            }
        } catch {
            note("the variants of a target were not found", error)
        }
        return found
    }

    /// A variant of the user's own is what a confirmed write made of it, as its target is (case 6), and
    /// everybody's is what it was (case 29).
    ///
    /// To be called before the modifier is settled and behind it: what counts once, however often it
    /// is applied, stands in the rows before, so that nobody who has heard of the end sees what was.
    func settleVariants(of varied: VariedTarget, isBefore: Bool) async {
        let modifier = varied.whole.modifier
        let scope = context.store.key(for: modifier.scope)
        let effect = varied.whole.changes.last { $0.id == varied.target }
            .flatMap { try? Effect(parsing: $0.effect) }
        guard varied.isConfirmed, let effect, effect.countsOnce == isBefore,
            !isShownByRead(modifier.number)
        else { return }
        do throws(StoreError) {
            for variant in varied.variants
            where variant.place == scope && !context.store.isTargeted(scope, variant.id) {
                try await settle(variant, effect, varied, scope)
            }
        } catch {
            note("the variants of a target were not settled", error)
        }
    }

    /// To be called once the modifier is settled, before that is told.
    func tellVariants(of varied: VariedTarget) async {
        await settleVariants(of: varied, isBefore: false)
        let modifier = varied.whole.modifier
        let scope = context.store.key(for: modifier.scope)
        do throws(StoreError) {
            try await context.tell(varied.variants, scope, of: ChangeCause(modifier))
        } catch {
            note("the variants of a target were not told", error)
        }
    }

    private func settle(
        _ variant: EngineContext.Variant,
        _ effect: Effect,
        _ varied: VariedTarget,
        _ scope: ScopeKey
    ) async throws(StoreError) {
        let modifier = varied.whole.modifier
        let now = context.clock.now()
        let base = try await context.base(of: variant, scope)
        guard let old = base.entry else { return }
        let settled = SettledBase(
            variant.id,
            effect,
            on: base,
            body: varied.whole.body,
            mediaType: modifier.mediaType,
            isPatchable: false,
            modifier.origin,
            at: now
        )
        var new: NewEntry
        switch settled {
        case .stale, .entity: return
        case .deleted(let tombstone):
            new = NewEntry(scope: scope, entry: tombstone, body: .inline([]))
        case .value(let entry, let bytes):
            guard bytes.count <= Limits.inlineBodyBytesMax else { return }
            new = NewEntry(scope: scope, entry: entry, body: .inline(bytes))
            // By it an answer is known to be one to its headers.
            if let names = old.headers.list("Vary") { new.entry.headers.set("Vary", names) }
        }
        new.isTold = false
        let unchanged = WriteCondition(scope, variant.id) { reader throws(StoreError) in
            try reader.entry(scope, variant.id, now: now)?.revision == old.revision
        }
        do throws(StoreError) {
            _ = try await context.store.put(new, now: now, if: unchanged)
        } catch .conditionFailed {
            // An answer has come meanwhile, which knows better.
        }
    }
}

extension Effect {
    /// Whether it comes to the same, however often it is applied.
    fileprivate var countsOnce: Bool {
        switch self {
        case .put, .replace, .merge, .set, .listRemove, .delete, .none: true
        case .patch, .add, .listAdd: false
        }
    }
}
