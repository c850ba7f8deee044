import LarderJSON
import LarderModel
import LarderNormalize
import LarderStore
import LarderWire
import Synchronization

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
        let settings = origins.decide(whole.modifier.url, for: whole.modifier.scope.uid).settings
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
            let origin = context.origins.decide(url, for: uid).settings,
            let path = origin.path(of: url)
        else { return nil }
        let location = headers["Location"].flatMap { try? url.resolving($0) }
        let isOwn = location.flatMap { context.origins.decide($0, for: uid).settings?.name }
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
        if request.mediaType.map(MediaType.isAnyJSON) == true {
            request.body = replaced(inJSON: request.body)
        }
        return request
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
