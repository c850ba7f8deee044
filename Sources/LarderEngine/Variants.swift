import LarderModel
import LarderStore
import LarderStrategy
import Logging

/// The variants of a URL that is written to: they show the write, and hear of it.
extension EngineContext {
    /// Whether unsettled changes show under an id: they target it, or the URL of which it is a
    /// variant.
    func hasChanges(_ scope: ScopeKey, _ id: EntryID) -> Bool {
        guard store.modifiers.hasTargets else { return false }
        return store.modifiers.isTarget(scope, id)
            || Variants.url(of: id).map { store.modifiers.isTarget(scope, $0) } == true
    }

    /// Where the variants of a target are that one sees, where it is a URL.
    func variantPlaces(of id: EntryID, _ scope: ScopeKey) -> VariantPlaces? {
        id.variantPrefix.map { VariantPlaces(prefix: $0, scopes: sight(scope, id).scopes) }
    }
}

extension ChangeCause {
    /// A modifier has done it, and so who has accepted that.
    init(_ modifier: StoredModifier) {
        let client = modifier.client.flatMap(ClientTag.init(text:))
        self.init(.modifier, text: "modifier:\(modifier.id)", client: client)
    }
}

extension Variants {
    /// Tells whoever watches variants that a modifier has come or gone.
    ///
    /// Where that fails they are seen all the same by who looks.
    static func tell(
        _ variants: [VariantRow],
        _ scope: ScopeKey,
        of cause: ChangeCause,
        in context: EngineContext
    ) async {
        guard !variants.isEmpty else { return }
        let now = context.clock.now()
        do throws(StoreError) {
            let news = try await context.store.read(as: .sending) { reader throws(StoreError) in
                var news: [RowNews] = []
                let look = EntryReader(context: context, scope: scope, reader: reader, now: now)
                for variant in variants {
                    let head = try look.head(of: variant.id)
                    let event: Change.Event =
                        head?.entry.kind == .tombstone
                        ? .delete(variant.id, cause) : .put(variant.id, cause)
                    news.append(RowNews(variant.id, in: variant.place, seenBy: scope.scope, event))
                }
                return news
            }
            try await context.store.renew(news)
        } catch {
            context.note("the variants of a target were not told", error)
        }
    }
}
