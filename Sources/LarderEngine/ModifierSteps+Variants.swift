import LarderJSON
import LarderModel
import LarderStore
import Logging

/// What becomes of the variants of a target when its modifier leaves the queue.
///
/// They are no targets: what of this cannot be done, as the cache cannot be read or written, keeps
/// no modifier from being settled.
extension ModifierSteps {
    /// A target with its variants.
    struct VariedTarget {
        let whole: WholeModifier
        let target: EntryID
        let variants: [EngineContext.Variant]
    }

    func variedTargets(of whole: WholeModifier) async -> [VariedTarget] {
        let scope = context.store.key(for: whole.modifier.scope)
        var found: [VariedTarget] = []
        do throws(StoreError) {
            for id in Set(whole.modifier.targets) {
                let variants = try await context.variants(of: id, scope)
                guard !variants.isEmpty else { continue }
                found.append(VariedTarget(whole: whole, target: id, variants: variants))
            }
        } catch {
            note("the variants of a target were not found", error)
        }
        return found
    }

    /// A variant of the user's own is what a confirmed write made of it, as its target is (case 6), and
    /// everybody's is what it was (case 29), to be asked for again.
    func settledVariants(of varied: VariedTarget) -> [SettledVariant] {
        let (whole, modifier) = (varied.whole, varied.whole.modifier)
        let scope = context.store.key(for: modifier.scope)
        let effect = whole.changes.last { $0.id == varied.target }
            .flatMap { try? Effect(parsing: $0.effect) }
        let isShownByRead = isShownByRead(modifier.number)
        return varied.variants.map { variant in
            SettledVariant(variant.id, in: variant.place) { [clock = context.clock] base in
                guard variant.place == scope, let effect, !isShownByRead, let old = base.entry
                else { return .markStale }
                let settled = SettledBase(
                    variant.id,
                    effect,
                    on: base,
                    body: whole.body,
                    mediaType: modifier.mediaType,
                    isPatchable: false,
                    modifier.origin,
                    at: clock.now()
                )
                guard case .put(var entry, let bytes) = BaseUpdate(settled) else {
                    return BaseUpdate(settled)
                }
                // By it an answer is known to be one to its headers.
                if let names = old.headers.list("Vary") { entry.headers.set("Vary", names) }
                return .put(entry, bytes)
            }
        }
    }

    /// To be called once the modifier is settled.
    func tellVariants(of varied: VariedTarget) async {
        let modifier = varied.whole.modifier
        let scope = context.store.key(for: modifier.scope)
        do throws(StoreError) {
            try await context.tell(varied.variants, scope, of: ChangeCause(modifier))
        } catch {
            note("the variants of a target were not told", error)
        }
    }
}
