import LarderJSON
package import LarderModel
import LarderNormalize
package import LarderStore
package import LarderStrategy
import LarderWire
import Synchronization

/// The temporary ids that a new modifier names.
struct TemporaryNames: EnginePart {
    let context: EngineContext

    /// A command in which known temporary ids are replaced by the real ones.
    struct Resolved: Sendable {
        var command: ModifierCommand
        var body: [UInt8]
        /// The names that are left: their writes are not settled, or this one creates the things.
        var uses: [TemporaryUse] = []
        /// The origin of the writes that create the targets.
        var origins: [EntryID: OriginName] = [:]
    }

    /// Resolves what a command names; `before` are the modifiers before it in the same list.
    ///
    /// Refuses a name that no write creates, and that of a write which was not confirmed. An edit of
    /// a write may create what `edited` did.
    func resolved(
        _ command: ModifierCommand,
        body: [UInt8],
        _ mediaType: String?,
        _ scope: ScopeKey,
        after before: [NewModifier],
        editing edited: StoredModifier?
    ) async throws(Problem) -> Resolved {
        var resolved = Resolved(command: command, body: body)
        let isJSON = mediaType.map(MediaType.isAnyJSON) ?? false
        let request = try named(by: command.request, body, isJSON: isJSON)
        let effects = command.changes.flatMap { change in
            TemporaryID.occurrences(in: change.effect.bytes).map(\.id)
        }
        var targets: [TemporaryID] = []
        for change in command.changes { targets += try named(by: change.target, scope) }
        let all = Set(request + effects + targets).sorted()
        guard !all.isEmpty else { return resolved }
        guard all.count <= Limits.temporaryIDsMax else {
            throw Problem(
                .badRequest,
                "\(all.count) temporary ids are named, at most \(Limits.temporaryIDsMax) are taken",
                status: 422
            )
        }
        let made = made(by: command, scope)
        let stored = try await storing(await store.modifiers.temporaries(all, scope))
        var replacement = IDReplacement([:])
        var known: [EntryID: EntryID] = [:]
        for name in all {
            if let found = stored[name], found.creator != edited?.number {
                try check(command, found.id, name)
                guard let real = try take(found, for: edited, into: &replacement) else {
                    resolved.uses.append(TemporaryUse(name))
                    resolved.origins[found.id] = found.origin
                    continue
                }
                known[found.id] = real
            } else if let (id, origin) = before.creation(of: name) {
                try check(command, id, name)
                resolved.uses.append(TemporaryUse(name))
                resolved.origins[id] = origin
            } else if let id = made[name] {
                try check(command, id, name)
                try checkCreation(of: id, name, command, isNamed: request.contains(name))
                resolved.uses.append(TemporaryUse(name, made: id))
            } else {
                throw Problem(
                    .badRequest,
                    "no write creates '\(name)'",
                    status: 422,
                    hint: "First send the write that puts it, or the real id."
                )
            }
        }
        guard !replacement.isEmpty else { return resolved }
        for place in command.changes.indices {
            let change = command.changes[place]
            let target = known[change.target] ?? renamed(change.target, replacement)
            resolved.command.changes[place].target = target
            resolved.command.changes[place].effect = replacement.replaced(in: change.effect)
        }
        resolved.command.request.url = try command.request.url.map { url throws(Problem) in
            try replaced(url, replacement)
        }
        resolved.body = replacement.replaced(inBody: body, mediaType)
        return resolved
    }

    /// A read with the real URL; one that names an id which is not known asks no origin.
    func current(_ order: FetchOrder, in scope: ScopeKey) throws(Problem) -> FetchOrder {
        var order = order
        var replacement = IDReplacement([:])
        for name in TemporaryID.occurrences(in: order.url.text).map(\.id) {
            guard let alias = store.modifiers.alias(of: name, in: scope), let real = alias.real,
                let value = try? JSONValue(parsing: alias.value)
            else {
                order.policy = .cacheOnly
                return order
            }
            replacement.values[name] = value
            replacement.addresses[name] = real.isEntity ? nil : try? WebURL(real.text)
        }
        order.url = try replaced(order.url, replacement)
        return order
    }

    private func replaced(
        _ url: WebURL,
        _ replacement: IDReplacement
    ) throws(Problem) -> WebURL {
        guard let url = replacement.replaced(in: url) else {
            throw Problem(.badURL, "'\(url)' is no URL with the real ids")
        }
        return url
    }

    /// A URL with the real ids; another id stays as it is.
    private func renamed(_ id: EntryID, _ replacement: IDReplacement) -> EntryID {
        guard !id.isEntity, let url = try? WebURL(id.text), let real = replacement.replaced(in: url)
        else { return id }
        return (try? EntryID(real)) ?? id
    }

    // MARK: Names

    /// The names in a target: it is one, or a URL that has some.
    ///
    /// Refuses what could not be renamed once the ids are known.
    private func named(by target: EntryID, _ scope: ScopeKey) throws(Problem) -> [TemporaryID] {
        if let name = target.temporary { return [name] }
        let names = TemporaryID.occurrences(in: target.text).map(\.id)
        guard let name = names.first else { return [] }
        let areKnown = names.allSatisfy { store.modifiers.alias(of: $0, in: scope)?.real != nil }
        guard target.isEntity || !areKnown, context.entity(at: target, in: scope) == nil else {
            return names
        }
        throw Problem(
            .badRequest,
            "target: '\(target)' has the temporary id '\(name)' within it",
            status: 422,
            hint: "Name the entity, as entity:ORIGIN/TYPE:tmp:UUID, or the id alone."
        )
    }

    /// The names in a request, which may be in its URL and in a JSON body only.
    private func named(
        by request: ModifierCommand.Request,
        _ body: [UInt8],
        isJSON: Bool
    ) throws(Problem) -> [TemporaryID] {
        let url = request.url.map { TemporaryID.occurrences(in: $0.text) } ?? []
        let inBody =
            isJSON ? IDReplacement.names(inJSON: body) : TemporaryID.occurrences(in: body).map(\.id)
        let headers = request.headers.fields.flatMap { TemporaryID.occurrences(in: $0.value) }
        if let name = headers.first?.id ?? (isJSON ? nil : inBody.first) {
            throw Problem(
                .badRequest,
                "request: '\(name)' is a temporary id, which only the URL and a JSON body can name",
                status: 422
            )
        }
        return url.map(\.id) + inBody
    }

    /// The things with temporary ids that a command puts somewhere.
    private func made(by command: ModifierCommand, _ scope: ScopeKey) -> [TemporaryID: EntryID] {
        var made: [TemporaryID: EntryID] = [:]
        for change in command.changes {
            if let name = change.target.temporary, change.effect.puts {
                made[name] = change.target
            }
            var waiting = [(parent: change.target, effect: change.effect)]
            var room = Limits.placedBytesMax
            while let (parent, effect) = waiting.popLast() {
                let bytes = effect.bytes
                room -= bytes.count
                guard room >= 0, !TemporaryID.occurrences(in: bytes).isEmpty else { continue }
                let placed = context.origins.placed(by: effect, in: parent, for: scope.scope.uid)
                for (id, object) in placed {
                    if let name = id.temporary, made[name] == nil { made[name] = id }
                    waiting.append((id, .put(object)))
                }
            }
        }
        return made
    }

    /// Refuses a target that has the name of another thing.
    private func check(
        _ command: ModifierCommand,
        _ id: EntryID,
        _ name: TemporaryID
    ) throws(Problem) {
        let other = command.changes.first { $0.target.temporary == name && $0.target != id }
        guard let other else { return }
        throw Problem(
            .badRequest,
            "target: '\(name)' names '\(id)', and not '\(other.target)'",
            status: 422
        )
    }

    /// Takes over the real id of a name; returns nil while its write waits.
    private func take(
        _ stored: StoredTemporary,
        for edited: StoredModifier?,
        into replacement: inout IDReplacement
    ) throws(Problem) -> EntryID? {
        switch stored.state {
        case .waiting:
            // A write that waits cannot wait for a later one.
            guard let edited, edited.state != .failed, stored.creator > edited.number else {
                return nil
            }
            throw Problem(
                .badRequest,
                "'\(stored.name)' is created by a later write",
                status: 422,
                hint: "Cancel this write, and send another one."
            )
        case .known:
            guard let real = stored.real, let value = try? JSONValue(parsing: stored.value) else {
                throw Problem(.storage, "the id of '\(stored.name)' cannot be read")
            }
            replacement.values[stored.name] = value
            if !real.isEntity { replacement.addresses[stored.name] = try? WebURL(real.text) }
            return real
        case .failed:
            throw Problem(
                .alreadySettled,
                "the write that creates '\(stored.name)' was not confirmed",
                hint: "Send that write again, or create another thing."
            )
        case .missing:
            throw Problem(
                .alreadySettled,
                "the answer to the write that creates '\(stored.name)' had no id",
                hint: "Read the thing from the origin, and use the id that it has there."
            )
        }
    }

    /// Refuses a create whose request would have to name what only its answer tells.
    private func checkCreation(
        of id: EntryID,
        _ name: TemporaryID,
        _ command: ModifierCommand,
        isNamed: Bool
    ) throws(Problem) {
        if command.request.url == nil, command.changes.contains(where: { $0.target == id }) {
            throw Problem(
                .noRequest,
                "'\(name)' has no URL before the origin has created it",
                hint: "Give the request that creates it, such as a POST to its list."
            )
        }
        guard isNamed else { return }
        throw Problem(
            .badRequest,
            "request: it names '\(name)', which it is to create",
            status: 422,
            hint: "Leave the id out of the request: the origin's answer tells it."
        )
    }
}

extension Effect {
    /// Whether it gives its target a value, whatever the target was.
    fileprivate var puts: Bool {
        switch self {
        case .put: true
        case .all(let effects): effects.contains(where: \.puts)
        case .replace, .merge, .patch, .set, .add, .listAdd, .listRemove, .delete, .none: false
        }
    }
}

extension [NewModifier] {
    fileprivate func creation(of name: TemporaryID) -> (id: EntryID, origin: OriginName)? {
        for modifier in self {
            let use = modifier.temporaries.first { $0.name == name && $0.made != nil }
            if let made = use?.made { return (made, modifier.origin) }
        }
        return nil
    }
}

/// The ids of what confirmed writes have created.
struct CreatedIDs {
    private let steps: ModifierSteps
    private var context: EngineContext { steps.context }

    init(_ steps: ModifierSteps) { self.steps = steps }

    /// The ids that the answer to a write tells for the things that it creates.
    ///
    /// Called on the writer's thread.
    func renaming(of made: [StoredTemporary], by whole: WholeModifier) -> IDRenaming {
        let answer = answer(to: whole)
        let scope = context.store.key(for: whole.modifier.scope)
        // Asked without remembering it, as `baseUpdate(for:)` does.
        let origins = context.origins
        let settings = origins.origin(of: whole.modifier.url, for: whole.modifier.scope.uid)
        var replacement = IDReplacement([:])
        var (ids, missing): ([RenamedID], [TemporaryID]) = ([], [])
        for stored in made {
            let pointer = made.count == 1 ? settings?.modifiers.createdID : nil
            guard let answer, let created = createdID(stored.id, in: answer, at: pointer),
                let real = created.id(insteadOf: stored.id), real.temporary == nil,
                !ids.contains(where: { $0.to == real })
            else {
                missing.append(stored.name)
                continue
            }
            replacement.values[stored.name] = created.value
            replacement.addresses[stored.name] = created.url
            fence(whole, stored.id, createdAs: real)
            ids.append(
                RenamedID(
                    stored.name,
                    from: stored.id,
                    to: real,
                    value: created.value.bytes,
                    isOfSharedRow: context.sharedScope(of: real, for: scope) != nil
                )
            )
        }
        let known = replacement
        var renaming = IDRenaming(
            request: { known.replaced(in: $0) },
            effect: { bytes in
                (try? Effect(parsing: bytes)).map { known.replaced(in: $0).bytes } ?? bytes
            }
        )
        (renaming.ids, renaming.missing) = (ids, missing)
        return renaming
    }

    /// Keeps reads that departed earlier from changing what the answer to a create says.
    ///
    /// If the answer has no value, a read that shows the created thing is later than the effect.
    private func fence(_ whole: WholeModifier, _ temporary: EntryID, createdAs real: EntryID) {
        let last = steps.attempts.withLock { $0[whole.modifier.number] }
        let said = SaidTargets(context, whole, last?.answer, last?.verdict)
        guard said.contains(real) || said.contains(temporary) else { return }
        let scope = context.store.key(for: whole.modifier.scope)
        context.reads.writeConfirmed(real, in: scope, touching: .all)
    }

    private func createdID(
        _ id: EntryID,
        in answer: CreatedID.Answer,
        at pointer: String?
    ) -> CreatedID? {
        guard let name = id.entity else { return CreatedID(ofThingIn: answer, at: pointer) }
        let rules = context.entityRules(of: name.origin)
        return CreatedID(ofType: name.key.type, in: answer, at: pointer, rules)
    }

    /// The answer to the last attempt; that before a restart is in the row.
    private func answer(to whole: WholeModifier) -> CreatedID.Answer? {
        let last = steps.attempts.withLock { $0[whole.modifier.number]?.answer }
        let (url, uid) = (whole.modifier.url, whole.modifier.scope.uid)
        guard let headers = last?.headers ?? whole.answer?.headers,
            let body = last?.body ?? whole.answer?.body,
            let origin = context.origins.origin(of: url, for: uid),
            let path = origin.path(of: url)
        else { return nil }
        let location = headers["Location"].flatMap { try? url.resolving($0) }
        let isOwn = location.flatMap { context.origins.origin(of: $0, for: uid)?.name }
        let address = isOwn == origin.name ? location : nil
        return CreatedID.Answer(
            body: body,
            location: address,
            locationPath: address.flatMap(origin.path),
            path: path
        )
    }
}

extension CreatedID {
    fileprivate func id(insteadOf temporary: EntryID) -> EntryID? {
        guard let name = temporary.entity else { return url.flatMap { try? EntryID($0) } }
        return key.map { EntryID(EntityName($0, of: name.origin)) }
    }
}

extension IDReplacement {
    fileprivate func replaced(in request: QueuedRequest) -> QueuedRequest {
        var request = request
        request.url = replaced(in: request.url) ?? request.url
        request.body = replaced(inBody: request.body, request.mediaType)
        return request
    }

    /// A body with the real ids if its type is JSON; any other as it is.
    fileprivate func replaced(inBody body: [UInt8], _ mediaType: String?) -> [UInt8] {
        guard let mediaType, MediaType.isAnyJSON(mediaType) else { return body }
        return replaced(inJSON: body, isPatch: MediaType.isJSONPatch(mediaType))
    }
}

extension WholeModifier {
    /// Whether the request names a temporary id, which none that is sent may.
    var namesTemporaryID: Bool {
        let isJSON = modifier.mediaType.map(MediaType.isAnyJSON) ?? false
        return !TemporaryID.occurrences(in: modifier.url.text).isEmpty
            || isJSON && !IDReplacement.names(inJSON: body).isEmpty
    }
}

// LarderAPI has types of these names, for the wire; here they are the model's.
package typealias CacheStatus = LarderStrategy.CacheStatus
package typealias EntryKind = LarderModel.EntryKind
package typealias FetchPolicy = LarderModel.FetchPolicy
package typealias ModifierReason = LarderModel.ModifierReason
package typealias ModifierRequest = LarderStrategy.ModifierRequest
package typealias ModifierState = LarderModel.ModifierState
package typealias NormalizedUsage = LarderStore.NormalizedUsage
package typealias PinState = LarderModel.PinState
package typealias TargetName = LarderStore.TargetName
package typealias Timestamp = LarderModel.Timestamp
package typealias WatchKind = LarderModel.WatchKind
