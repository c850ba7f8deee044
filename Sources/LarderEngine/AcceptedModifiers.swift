import LarderJSON
import LarderModel
import LarderNormalize
import LarderStore
import Logging

/// Modifiers that were answered 202, and what the origin says of their targets.
struct AcceptedModifiers: Sendable {
    let context: EngineContext

    /// Modifiers that were answered 202 and whose effects all show in what the origin says.
    ///
    /// This checks a target that was just read, and their other targets as far as they are known.
    ///
    /// A modifier that a later one undid is shown together with that one.
    ///
    /// Empty if the read answer is not base: another one replaced it, or the disk is full. Without
    /// the modifiers, the view would then not be that answer.
    func modifiers(
        shownBy id: EntryID,
        _ scope: ScopeKey,
        _ body: BodySummary?
    ) async -> [ModifierNumber] {
        do throws(StoreError) {
            var shown: [ModifierNumber] = []
            for viewer in try await context.store.modifiers.viewers(of: id, in: scope) {
                shown += try await modifiers(shownBy: id, to: viewer, body)
            }
            return shown
        } catch {
            // The next read is looked at again, and the limit is there.
            context.note("a modifier was not compared with what was read", error)
            return []
        }
    }

    private func modifiers(
        shownBy id: EntryID,
        to scope: ScopeKey,
        _ body: BodySummary?
    ) async throws(StoreError) -> [ModifierNumber] {
        let found = try await context.store.read { reader throws(StoreError) in
            try reader.targets.target(scope, id)
        }
        guard let found, found.base.isKnown, id.isEntity || found.base.serverValue == body else {
            return []
        }
        var contents = [id: TargetContent(found.base)]
        var shown: [ModifierNumber] = []
        var later: [EntryID: [Effect]] = [:]
        for change in found.changes.reversed()
        where change.state == .accepted && !change.isAnswered {
            guard
                let (whole, targets) = try await context.store.modifiers.withTargets(change.number),
                let effects = whole.effects
            else { continue }
            for (other, target) in targets where contents[other] == nil {
                contents[other] = TargetContent(target.base)
            }
            let (origins, uid) = (context.origins, scope.scope.uid)
            let isShown = effects.areShown(
                in: { contents[$0] ?? .unknown },
                before: later,
                view: { id, content, effects in
                    let document = id.isEntity ? nil : origins.document(id, for: uid)
                    return document?.view(of: content, effects) ?? View.of(content, effects)
                }
            )
            guard isShown else { continue }
            later.merge(effects) { $1 + $0 }
            shown.append(change.number)
        }
        // The earliest first: without a later modifier, the effects that it undid would show again.
        return shown.reversed()
    }
}
