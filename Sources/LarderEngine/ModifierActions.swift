package import LarderAPI
package import LarderModel
package import LarderStore
package import LarderWire

package enum ModifierActionOrder {
    case ids([ModifierID])
    /// All in a state, and of the origin if one is named.
    case list(ModifierListCommand, OriginName?)

    package init(_ command: ModifierActionCommand) throws(Problem) {
        guard let ids = command.ids else {
            guard let state = command.state else {
                throw Problem(.badRequest, "'ids' or 'state' is needed")
            }
            var list = ModifierListCommand()
            guard let selection = ModifierListCommand.Selection(text: state.rawValue),
                case .one = selection
            else { throw Problem(.badRequest, "state: '\(state.rawValue)' is no state") }
            (list.selection, list.limit) = (selection, Limits.pageRowsMax)
            list.cursor = command.cursor
            self = .list(list, try OriginName?(command: command.origin))
            return
        }
        guard command.state == nil, command.origin == nil, command.cursor == nil else {
            throw Problem(.badRequest, "'ids' is given with other members that select")
        }
        try ids.checkCount("ids", in: 1...Limits.pageRowsMax)
        self = .ids(
            try ids.checkedElements("ids") { text throws(Problem) in
                try Problem.checking { () throws(ModelError) in try ModifierID(text) }
            }
        )
    }
}

package struct ModifierActions: EnginePart {
    let context: EngineContext
    var modifiers: Modifiers { Modifiers(context: context) }

    /// Does an action on modifiers of an account, one after the other.
    package func act(
        _ action: ModifierAction,
        on ids: [ModifierID],
        _ scope: ScopeKey,
        cancellation: ClientCancellation
    ) async -> Page<ModifierActionResult> {
        var items: [ModifierActionResult] = []
        for id in ids { items.append(await result(of: action, on: id, scope, cancellation)) }
        return Page(items: items)
    }

    /// Does an action on a page of modifiers in a state.
    ///
    /// A modifier that came into the state after the action began is left alone: a retried one may
    /// fail again, and then has a later place in the list. The cursor is that of the list, and the
    /// revision at which the action began.
    package func act(
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
}
