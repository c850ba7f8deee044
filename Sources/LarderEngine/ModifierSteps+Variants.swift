import LarderJSON
import LarderModel
import LarderStore
import Logging

/// What becomes of the variants of a target when its modifier leaves the queue.
extension ModifierSteps {
    /// A variant of the user's own is what a confirmed write made of it, as its target is (case 6), and
    /// everybody's is what it was (case 29), to be asked for again.
    func variantRows(of whole: WholeModifier) -> [VariantRows] {
        let scope = context.store.key(for: whole.modifier.scope)
        return Set(whole.modifier.targets).compactMap { target in
            Variants.prefix(of: target).map { prefix in
                VariantRows(prefix: prefix, scopes: context.sight(scope, target).scopes) {
                    variant,
                    base in
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
        let modifier = whole.modifier
        let effect = whole.changes.last { $0.id == target }
            .flatMap { try? Effect(parsing: $0.effect) }
        guard let effect, !isShownByRead(modifier.number), let old = base.entry else {
            return .markStale
        }
        let settled = SettledBase(
            id,
            effect,
            on: base,
            body: whole.body,
            mediaType: modifier.mediaType,
            isPatchable: false,
            modifier.origin,
            at: context.clock.now()
        )
        guard case .put(var entry, let bytes) = BaseUpdate(settled) else {
            return BaseUpdate(settled)
        }
        // By it an answer is known to be one to its headers.
        if let names = old.headers.list("Vary") { entry.headers.set("Vary", names) }
        return .put(entry, bytes)
    }

    /// To be called once the modifier has left the queue.
    func tellVariants(of departed: DepartedModifier) async {
        let modifier = departed.whole.modifier
        let scope = context.store.key(for: modifier.scope)
        do throws(StoreError) {
            try await context.tell(departed.variants, scope, of: ChangeCause(modifier))
        } catch {
            retrying.note("the variants of a target were not told", error)
        }
    }
}
