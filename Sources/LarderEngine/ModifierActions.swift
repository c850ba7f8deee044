import LarderJSON
package import LarderModel
package import LarderStore
import LarderStrategy
package import LarderWire

import struct LarderAPI.ModifierState

package struct ModifierActions: EnginePart {
    let context: EngineContext
    private var modifiers: Modifiers { Modifiers(context: context) }

    /// Does an action on modifiers by their ids, one after the other, or on a page of those in a
    /// state.
    ///
    /// Ids are those of one scope.
    package func act(
        _ command: ModifierActionCommand,
        _ scopes: RowScopes,
        cancellation: ClientCancellation
    ) async throws(Problem) -> Page<ModifierActionResult> {
        let action = command.action
        guard let given = command.ids else {
            guard let state = command.state else {
                throw Problem(.badRequest, "'ids' or 'state' is needed")
            }
            var list = ModifierListCommand()
            guard let selection = ModifierListCommand.Selection(text: state.rawValue),
                case .one = selection
            else { throw Problem(.badRequest, "state: '\(state.rawValue)' is no state") }
            (list.selection, list.limit) = (selection, Limits.pageRowsMax)
            list.cursor = command.cursor
            let origin = try OriginName?(command: command.origin)
            return try await act(action, on: list, of: origin, scopes, cancellation: cancellation)
        }
        guard case .one(let scope) = scopes else {
            preconditionFailure("ids are those of one scope")
        }
        guard command.state == nil, command.origin == nil, command.cursor == nil else {
            throw Problem(.badRequest, "'ids' is given with other members that select")
        }
        try given.checkCount("ids", in: 1...Limits.pageRowsMax)
        let ids = try given.checkedElements("ids") { text throws(Problem) in
            try Problem.checking { () throws(ModelError) in try ModifierID(text) }
        }
        var items: [ModifierActionResult] = []
        for id in ids { items.append(await result(of: action, on: id, scope, cancellation)) }
        return Page(items: items)
    }

    /// Does an action on a page of modifiers in a state.
    ///
    /// A modifier that came into the state after the action began is left alone: a retried one may
    /// fail again, and then has a later place in the list. The cursor is that of the list, and the
    /// revision at which the action began.
    func act(
        _ action: ModifierAction,
        on list: ModifierListCommand,
        of origin: OriginName?,
        _ scopes: RowScopes,
        cancellation: ClientCancellation
    ) async throws(Problem) -> Page<ModifierActionResult> {
        if let origin, context.origins[origin] == nil {
            throw Problem(.noSuchOrigin, "there is no origin '\(origin)'")
        }
        var list = list
        var start = store.changes.published.number
        if let cursor = list.cursor {
            let parts = cursor.split(separator: ".").map(String.init)
            guard parts.count == 2, let revision = Int64(parts[1]) else {
                throw Problem(.badRequest, "cursor: '\(cursor)' is none of an action")
            }
            (list.cursor, start) = (parts[0], revision)
        }
        let page = try await modifiers.list(list, scopes, cancellation: cancellation)
        var items: [ModifierActionResult] = []
        for report in page.items where report.rev <= start {
            guard let id = try? ModifierID(report.id),
                let account = try? AccountName(report.account),
                origin == nil || self.origin(of: report) == origin
            else { continue }
            let scope = store.key(for: .own(uid: report.user, account: account))
            items.append(await result(of: action, on: id, scope, cancellation))
        }
        return Page(items: items, next: page.next.map { "\($0).\(start)" })
    }

    /// Nil for a URL that cannot be read, or that is of no origin.
    private func origin(of report: ModifierReport) -> OriginName? {
        guard let url = try? WebURL(report.request.url) else { return nil }
        return context.origins.origin(of: url)?.name
    }

    private func result(
        of action: ModifierAction,
        on id: ModifierID,
        _ scope: ScopeKey,
        _ cancellation: ClientCancellation
    ) async -> ModifierActionResult {
        do throws(Problem) {
            // Nil once the modifier is forgotten.
            var state: LarderAPI.ModifierState?
            if action == .retry {
                state = try await modifiers.retry(id, scope, cancellation: cancellation).state
            } else if action == .drop {
                try await drop(id, scope)
            } else {
                let isDiscarded = action == .discard
                try await modifiers.remove(
                    id,
                    scope,
                    discarding: isDiscarded,
                    dropping: false,
                    cancellation: cancellation
                )
                state = isDiscarded ? try await modifiers.modifier(id, scope).state : .cancelled
            }
            return ModifierActionResult(id: id.text, state: state)
        } catch {
            return ModifierActionResult(id: id.text, problem: error)
        }
    }

    /// Forgets a dead letter, and refuses any other modifier; it is on disk when this returns.
    func drop(_ id: ModifierID, _ scope: ScopeKey) async throws(Problem) {
        let (number, report) = try await ModifierReports(context: context).report(id, scope)
        guard report.state == .failed else {
            guard !report.state.isSettled else { throw .alreadySettled(report) }
            throw Problem(
                .inUse,
                "'\(id)' is \(report.state.rawValue), and only a failed modifier is dropped",
                hint: "Cancel it with POST /v1/modifiers/actions and the action cancel."
            )
        }
        let now = clock.now()
        let isDropped = try await storing(await store.modifiers.drop(number, of: scope, now: now))
        guard isDropped else { throw .noSuchModifier(id) }
    }

    // MARK: Editing

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

    /// Replaces changes and request of a modifier that cannot have been applied, or of a dead
    /// letter.
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
