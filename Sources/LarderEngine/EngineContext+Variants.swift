import LarderModel
import LarderStore

/// The variants of a URL that is written to: they show the write, and hear of it.
extension EngineContext {
    /// Whether unsettled changes show under an id: they target it, or the URL of which it is a
    /// variant.
    func hasChanges(_ scope: ScopeKey, _ id: EntryID) -> Bool {
        guard store.modifiers.hasTargets else { return false }
        return store.modifiers.isTarget(scope, id)
            || Variants.url(of: id).map { store.modifiers.isTarget(scope, $0) } == true
    }

    /// The variants of a target that one sees, where it is a URL: the first of them, as lists have
    /// them.
    private func variants(
        of id: EntryID,
        _ scope: ScopeKey
    ) async throws(StoreError) -> [VariantRow] {
        guard let prefix = Variants.prefix(of: id) else { return [] }
        let scopes = sight(scope, id).scopes
        return try await store.modifiers.variants(prefix, in: scopes, now: clock.now())
    }

    /// Tells whoever watches variants that a modifier has come or gone.
    func tell(
        _ variants: [VariantRow],
        _ scope: ScopeKey,
        of cause: ChangeCause
    ) async throws(StoreError) {
        guard !variants.isEmpty else { return }
        let now = clock.now()
        let news = try await store.read(as: .sending) { reader throws(StoreError) in
            var news: [RowNews] = []
            for variant in variants {
                let head = try self.views.head(of: variant.id, for: scope, reader, now: now)
                let event: Change.Event =
                    head?.entry.kind == .tombstone
                    ? .delete(variant.id, cause) : .put(variant.id, cause)
                news.append(RowNews(variant.id, in: variant.place, seenBy: scope.scope, event))
            }
            return news
        }
        try await store.renew(news)
    }

    /// Tells whoever watches the variants of what modifiers target that these have come.
    ///
    /// Where that fails they are seen all the same by who looks.
    func tellVariants(of accepted: [StoredModifier], _ scope: ScopeKey) async {
        do throws(StoreError) {
            for modifier in accepted {
                let cause = ChangeCause(modifier)
                for target in modifier.targets {
                    try await tell(variants(of: target, scope), scope, of: cause)
                }
            }
        } catch {
            noteUnread(error)
        }
    }
}

extension ChangeCause {
    /// A modifier has done it, and so who has accepted that.
    init(_ modifier: StoredModifier) {
        let client = modifier.client.flatMap(ClientTag.init(text:))
        self.init(.modifier, text: "modifier:\(modifier.id)", client: client)
    }
}
