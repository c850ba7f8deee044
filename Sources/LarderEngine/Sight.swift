import LarderModel
import LarderStore
import LarderWire

/// Where a client looks for an id: among its own rows, and where it has none there among what is
/// everybody's (P-09).
struct Sight: Sendable {
    let own: ScopeKey
    /// The shared one, where the id belongs to an origin whose answers are shared; nil where not.
    let shared: ScopeKey?

    var scopes: [ScopeKey] { [own] + (shared.map { [$0] } ?? []) }
}

extension EngineContext {
    /// The shared scope, where an id belongs to an origin whose answers are shared; nil where not,
    /// which costs nothing while there is no such origin.
    func sharedScope(of id: EntryID) -> ScopeKey? {
        guard hasSharedOrigins, origins.sharesRow(of: id) else { return nil }
        return sharedScope
    }

    /// Whether a row of a scope comes before a shared one under its id, which is hidden from the user
    /// then.
    func hidesShared(_ id: EntryID, _ scope: ScopeKey) -> Bool {
        sharedScope(of: id).map { $0 != scope } ?? false
    }

    func sight(_ scope: ScopeKey, _ id: EntryID) -> Sight {
        Sight(own: scope, shared: sharedScope(of: id))
    }

    /// Where a fetch looks: one with a credential of the client's own among its own rows only.
    func sight(_ scope: ScopeKey, _ request: FetchRequest) -> Sight {
        Sight(own: scope, shared: request.isShareable ? sharedScope : nil)
    }

    /// Whose row the answer to a request is to be: everybody's where its origin says so and no
    /// credential of the client's own is used, unless a row of its own stands before that one.
    ///
    /// `cached` is what the client sees now.
    func place(of request: FetchRequest, _ scope: ScopeKey, _ cached: ShownAnswer?) -> ScopeKey {
        guard request.isShareable, let id = try? cached?.entry.id ?? EntryID(request.url) else {
            return scope
        }
        if store.keepsShared(scope, id) { return sharedScope }
        return cached?.place == scope || store.isDurable(scope, id) ? scope : sharedScope
    }
}

extension NewEntry {
    /// What a flight has brought; `start` is the last revision that was told when its request started.
    init(
        _ entry: Entry,
        _ body: NewBody,
        of plan: Flight.Plan,
        since start: Revision,
        _ context: EngineContext
    ) {
        self.init(scope: plan.key.scope, entry: entry, body: body)
        client = plan.client
        hidesShared = context.hidesShared(entry.id, plan.key.scope)
        self.start = start
    }
}
