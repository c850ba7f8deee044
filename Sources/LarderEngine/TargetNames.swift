import LarderJSON
import LarderModel
import LarderNormalize
import LarderStore
import LarderWire

struct TargetNames: EnginePart {
    let context: EngineContext

    /// The one name of each target of a modifier.
    ///
    /// An id that is an entity's own URL by the rules gets the name of that entity. Each view of
    /// the entity then shows the change. The id keeps its own name if an effect reaches into
    /// another entity, or if the id already has modifiers.
    func targets(
        of command: ModifierCommand,
        _ scope: ScopeKey
    ) async throws(Problem) -> [EntryID] {
        var targets: [EntryID] = []
        for change in command.changes {
            if let name = change.target.entity,
                context.origins.origin(named: name.origin, for: scope.scope.uid) == nil
            {
                throw Problem(.noSuchOrigin, "no origin has the name '\(name.origin)'")
            }
            targets.append(try await name(of: change.target, change.effect, scope))
        }
        guard Set(targets).count == targets.count else { throw .targetTwice }
        return targets
    }

    /// A lane by the name that its targets have.
    func named(_ lane: Lane, _ scope: ScopeKey) -> Lane {
        guard case .id(let id) = lane else { return lane }
        return .id(name(of: id, scope))
    }

    /// The name that modifiers of an id use: the entity whose own URL it is.
    ///
    /// An id that already has modifiers keeps its own name.
    func name(of given: EntryID, _ scope: ScopeKey) -> EntryID {
        let id = store.modifiers.current(given, in: scope)
        guard !store.modifiers.isTarget(scope, id), let name = context.entity(at: id, in: scope)
        else { return id }
        return EntryID(name)
    }

    private func name(
        of id: EntryID,
        _ effect: Effect,
        _ scope: ScopeKey
    ) async throws(Problem) -> EntryID {
        let entity = name(of: id, scope)
        guard entity != id else { return id }
        // An entity is an object.
        guard !effect.makesOtherThanObject else { return id }
        let (now, places) = (clock.now(), context.lookupScopes(scope, entity).scopes)
        return try await context.read { reader throws(StoreError) in
            for place in places {
                let lookupScopes = EntityLookup.base(of: scope)
                let known = try reader.answers.entity(
                    place,
                    entity,
                    for: lookupScopes,
                    now: now,
                    isUse: false
                )
                if let known { return known.held.takes(effect) ? entity : id }
            }
            return entity
        }
    }

    /// The URL of a modifier's request, and the origin of that URL.
    ///
    /// `origins` has those of things whose URLs are not known yet.
    func address(
        of request: ModifierCommand.Request,
        _ targets: [EntryID],
        _ scope: ScopeKey,
        _ origins: [EntryID: OriginName]
    ) throws(Problem) -> (url: WebURL, origin: OriginSettings) {
        if let url = request.url { return (url, try context.origin(of: url, in: scope)) }
        let target = targets.first
        let derived = try Problem.checking("target", .badURL) { () throws(ModelError) -> WebURL? in
            guard let target else { return nil }
            return try context.origins.derivedURL(of: target, at: origins[target])
        }
        guard let url = derived else {
            throw Problem(
                .noRequest,
                "the rules say of no URL where '\(target?.description ?? "")' is",
                hint: "Give a request, or the rule of its type a url."
            )
        }
        return (url, try context.origin(of: url, in: scope))
    }
}

extension Effect {
    fileprivate var makesOtherThanObject: Bool {
        switch self {
        case .put(let value), .merge(let value): value.members == nil
        case .all(let effects): effects.contains(where: \.makesOtherThanObject)
        case .replace, .patch, .set, .add, .listAdd, .listRemove, .delete, .none: false
        }
    }
}
