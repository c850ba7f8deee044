import LarderJSON
package import LarderModel
package import LarderStore
import LarderStrategy
package import LarderWire

import struct LarderAPI.ModifierState

extension ModifierActions {
    /// The whole body of a modifier's request, which a report shows as text and not beyond 1 MiB.
    ///
    /// The history has none, so this throws for a modifier that is confirmed or cancelled.
    package func body(
        of id: ModifierID,
        _ scope: ScopeKey
    ) async throws(Problem) -> (bytes: [UInt8], mediaType: String?) {
        let number = try await storing(await store.modifiers.number(id, of: scope))
        guard let number else { throw .noSuchModifier(id) }
        let whole = try await storing(await store.modifiers.whole(number))
        guard let whole else { throw .noSuchModifier(id) }
        return (whole.body, whole.modifier.mediaType)
    }

    /// Replaces changes and request of a modifier that cannot have been applied, or of a dead letter.
    ///
    /// The edit is on disk, synced, before this returns. Id, number, state and dependencies stay,
    /// and a dead letter stays one until it is retried. A repeated edit changes nothing.
    ///
    /// `byteCount` is the size of the command: a large one is processed off the event loop.
    package func edit(
        _ id: ModifierID,
        to given: ModifierCommand,
        _ scope: ScopeKey,
        client: ClientTag? = nil,
        cancellation: ClientCancellation = ClientCancellation(),
        byteCount: Int = 0
    ) async throws(Problem) -> ModifierReceipt {
        var command = given
        (command.id, command.account) = (id, scope.scope.account)
        if let done = try await repeated(command, id, scope, byteCount) { return done }
        let (number, report) = try await ModifierReports(context: context).report(id, scope)
        let whole = try await storing(await store.modifiers.whole(number, bodyBytesMax: 0))
        guard let before = whole?.modifier else { throw .alreadySent(report) }
        if before.state != .failed {
            try await modifiers.change(number, report, cancellation) {
                queue,
                now throws(ModifierQueue.Refusal) in
                try queue.editAsked(number, now: now)
            }
        }
        var edited: EditedModifier?
        defer { if before.state != .failed { end(number, edited?.modifier) } }
        edited = try await edit(before, to: command, scope, client, byteCount)
        guard let edited else { throw .alreadySent(report) }
        await Variants.tell(edited.variants, scope, of: edited.cause, in: context)
        return ModifierReceipt(
            id: id,
            state: .init(edited.modifier.state),
            revision: edited.modifier.revision
        )
    }

    /// The receipt of an edit that was made before.
    private func repeated(
        _ command: ModifierCommand,
        _ id: ModifierID,
        _ scope: ScopeKey,
        _ byteCount: Int
    ) async throws(Problem) -> ModifierReceipt? {
        // The entry may have other bytes than before.
        if case .entry = command.request.body { return nil }
        let found = try await storing(await store.modifiers.submissions(of: [id], scope))
        guard let known = found[id] else { throw .noSuchModifier(id) }
        let digest = try await storing(await store.work(onBytes: byteCount) { command.digest })
        guard known.digest == digest else { return nil }
        return try await modifiers.receipt(known.number, id, scope, known.revision)
    }

    /// Writes the edit; nil if the modifier was settled or sent again meanwhile.
    ///
    /// If a temporary id gets its real id meanwhile, this looks again.
    private func edit(
        _ before: StoredModifier,
        to command: ModifierCommand,
        _ scope: ScopeKey,
        _ client: ClientTag?,
        _ byteCount: Int
    ) async throws(Problem) -> EditedModifier? {
        for _ in 0..<Limits.commandRoundsMax {
            let now = clock.now()
            var lists: [EntryID: [TargetContent]] = [:]
            var new = try await modifiers.modifier(
                command,
                scope,
                [],
                &lists,
                now,
                byteCount,
                editing: before
            )
            guard new.origin == before.origin else {
                throw Problem(
                    .badRequest,
                    "the request of '\(before.id)' goes to '\(before.origin)', and this one to "
                        + "'\(new.origin)'",
                    status: 422,
                    hint: "Cancel or drop it, and send another write."
                )
            }
            (new.lane, new.dependsOn, new.key) = (before.lane, before.dependsOn, before.key)
            new.client = client
            do throws(StoreError) {
                return try await store.modifiers.edit(
                    before.number,
                    to: new,
                    isDeadLetter: before.state == .failed,
                    seeing: Conflicts(context: context).look(scope),
                    variants: { [context] in context.variantPlaces(of: $0, scope) },
                    now: now
                )
            } catch .otherIDs {
                continue
            } catch {
                throw Problem(error)
            }
        }
        throw Problem(StoreError.otherIDs)
    }

    /// Has the queue go on with a modifier, as it is after its edit or as it was.
    private func end(_ number: ModifierNumber, _ edited: StoredModifier?) {
        let records = ModifierRecords(context: context)
        context.modifiers.post(
            .told { machine, now in
                let record = edited.map { records.current(records.record(of: $0)) }
                return machine.editEnded(number, record, now: now)
            }
        )
        context.modifiers.commits.tell()
    }
}
