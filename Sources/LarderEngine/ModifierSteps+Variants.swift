import LarderJSON
import LarderModel
import LarderStore

/// What becomes of the variants of a target when its modifier leaves the queue.
extension ModifierSteps {
    /// A variant of the user's own is what a confirmed write made of it, as its target is (case 6), and
    /// everybody's is what it was (case 29), to be asked for again.
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
            isAsSent: false,
            at: context.clock.now()
        )
        guard case .put(var entry, let bytes) = update else { return update }
        // By it an answer is known to be one to its headers.
        if let names = old.headers.list("Vary") { entry.headers.set("Vary", names) }
        return .put(entry, bytes)
    }
}
