import LarderModel
import LarderStore
import LarderStrategy
import LarderWire
import Logging

/// The scopes in which a client looks for an id: its own, and after that the shared one (P-09).
struct LookupScopes: Sendable {
    let own: ScopeKey
    /// The shared one, where the id belongs to an origin whose answers are shared; nil where not.
    let shared: ScopeKey?

    var scopes: [ScopeKey] { [own] + (shared.map { [$0] } ?? []) }
}

extension EngineContext {
    /// The shared scope if the id belongs to an origin whose answers are shared; otherwise nil.
    ///
    /// An account with its own credential sees its own rows only. Free without such an origin.
    func sharedScope(of id: EntryID, for scope: ScopeKey) -> ScopeKey? {
        guard hasSharedOrigins, let origin = origins.sharingOrigin(of: id) else { return nil }
        return credentials.current(of: scope.scope, at: origin) == nil ? sharedScope : nil
    }

    /// Whether a row of the scope hides a shared one under its id from the user.
    func hidesShared(_ id: EntryID, _ scope: ScopeKey) -> Bool {
        sharedScope(of: id, for: scope).map { $0 != scope } ?? false
    }

    func lookupScopes(_ scope: ScopeKey, _ id: EntryID) -> LookupScopes {
        LookupScopes(own: scope, shared: sharedScope(of: id, for: scope))
    }

    /// Where a fetch looks: only in the client's own scope if it carries a credential of the
    /// client.
    func lookupScopes(_ scope: ScopeKey, _ request: FetchRequest) -> LookupScopes {
        LookupScopes(own: scope, shared: request.isShareable ? sharedScope : nil)
    }

    /// The scope of the row for the answer to a request.
    ///
    /// It is the shared one if the origin's answers are shared and the request carries no
    /// credential of the client. A row of the client's own comes before the shared one.
    ///
    /// `cached` is what the client sees now.
    func place(of request: FetchRequest, _ scope: ScopeKey, _ cached: ShownAnswer?) -> ScopeKey {
        guard request.isShareable, let id = cached?.entry.id ?? request.command.id else {
            return scope
        }
        if store.keepsShared(scope, id) { return sharedScope }
        return cached?.place == scope || store.isDurable(scope, id) ? scope : sharedScope
    }
}

extension NewEntry {
    /// A new entry from a flight.
    ///
    /// `start` is the last revision that was told when the request of the flight started.
    init(
        _ entry: Entry,
        _ body: NewBody,
        of plan: Flight.Plan,
        since start: Revision,
        _ context: EngineContext
    ) {
        self.init(scope: plan.key.scope, entry: entry, body: body)
        client = plan.client
        isUse = plan.isUse
        hidesShared = context.hidesShared(entry.id, plan.key.scope)
        self.start = start
    }
}

/// The variants of a URL that is written to: they show the write, and hear of it.
extension EngineContext {
    /// Whether unsettled changes show under an id: they target it, or the URL of which it is a
    /// variant.
    func hasChanges(_ scope: ScopeKey, _ id: EntryID) -> Bool {
        guard store.modifiers.hasTargets else { return false }
        return store.modifiers.isTarget(scope, id)
            || Variants.url(of: id).map { store.modifiers.isTarget(scope, $0) } == true
    }

    /// The places of the variants of a target that the user sees; nil if the target is not a URL.
    func variantPlaces(of id: EntryID, _ scope: ScopeKey) -> VariantPlaces? {
        id.variantPrefix.map { VariantPlaces(prefix: $0, scopes: lookupScopes(scope, id).scopes) }
    }
}

extension NewChange {
    /// The change of one target by an effect in bytes.
    init(of id: EntryID, _ effect: [UInt8], _ scope: ScopeKey, _ context: EngineContext) {
        self.init(
            id: id,
            effect: effect,
            isOfSharedRow: context.sharedScope(of: id, for: scope) != nil,
            variants: context.variantPlaces(of: id, scope)
        )
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
    /// Tells watchers of variants that a modifier was added or settled.
    ///
    /// If that fails, clients that read the variants still see the change.
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
                var news: [(TargetName, Change.Event)] = []
                let look = EntryReader(context: context, scope: scope, reader: reader, now: now)
                for variant in variants {
                    let head = try look.head(of: variant.id)
                    let event: Change.Event =
                        head?.entry.kind == .tombstone
                        ? .delete(variant.id, cause) : .put(variant.id, cause)
                    news.append((TargetName(variant.place, variant.id), event))
                }
                return news
            }
            try await context.store.modifiers.renew(news, seenBy: scope.scope)
        } catch {
            context.note("the variants of a target were not told", error)
        }
    }
}
