import LarderAPI
import LarderJSON
import LarderModel
import LarderNormalize
import LarderStore
import LarderStrategy
import LarderWire

struct ModifierReports: EnginePart {
    let context: EngineContext
    private var names: TargetNames { TargetNames(context: context) }

    /// Everything that is known of a modifier, also of one that is settled, with its number.
    func report(
        _ id: ModifierID,
        _ scope: ScopeKey
    ) async throws(Problem) -> (ModifierNumber, ModifierReport) {
        let number = try await storing(await store.modifiers.number(id, of: scope))
        guard let number else { throw .noSuchModifier(id) }
        return (number, try await report(of: number, id, scope))
    }

    func report(
        of number: ModifierNumber,
        _ id: ModifierID,
        _ scope: ScopeKey
    ) async throws(Problem) -> ModifierReport {
        let found = try await storingAll { () async throws(StoreError) -> ModifierReport? in
            let whole = try await store.modifiers.whole(
                number,
                bodyBytesMax: Limits.inlineJSONBytesMax
            )
            if let whole { return try await report(of: whole, scope) }
            let settled = try await store.modifiers.settled(number, of: scope)
            if let settled { return ModifierReport(settled) }
            return try await store.modifiers.unreadable(number).map { ModifierReport($0) }
        }
        guard let found else { throw .noSuchModifier(id) }
        return found
    }

    private func report(
        of whole: WholeModifier,
        _ scope: ScopeKey
    ) async throws(StoreError) -> ModifierReport {
        var report = await report(of: whole.modifier)
        report.tell(whole, bytesMax: Limits.inlineJSONBytesMax)
        let told = try await targets(of: whole, scope)
        if !told.isEmpty { report.targets = told }
        if !whole.modifier.state.isSettled {
            let found = try await inapplicable(among: [whole.modifier])
            if found.contains(whole.modifier.number) { report.marks.append(.inapplicable) }
        }
        return report
    }

    // MARK: Lists

    func page(
        _ command: ModifierListCommand,
        _ scopes: RowScopes
    ) async throws(Problem) -> Page<ModifierReport> {
        let after = try command.cursor.map { text throws(Problem) in
            guard let number = Int64(text) else {
                throw Problem(.badRequest, "cursor: '\(text)' is none of this list")
            }
            return number
        }
        switch command.selection {
        case .settled, .one(.confirmed), .one(.cancelled):
            return try await settledPage(command, scopes, before: after)
        case .one, .unsettled, nil:
            return try await openPage(command, scopes, after: after)
        }
    }

    func filter(_ command: ModifierListCommand, _ scopes: RowScopes) -> ModifierFilter {
        var filter = ModifierFilter(scopes)
        switch command.selection {
        case .one(let state): filter.state = state
        case .unsettled:
            // A client that waits for its writes does not wait for shared rows to show them.
            (filter.isUnsettled, filter.isUnanswered) = (true, command.wait != nil)
        case .settled, nil: break
        }
        switch lane(of: command, scopes) {
        case .name(let name): filter.laneName = name
        case .id(let id): filter.target = id
        case nil: break
        }
        return filter
    }

    /// The lane by the name that its target has.
    private func lane(of command: ModifierListCommand, _ scopes: RowScopes) -> Lane? {
        guard let lane = command.lane, case .one(let scope) = scopes else { return command.lane }
        return names.named(lane, scope)
    }

    private func openPage(
        _ command: ModifierListCommand,
        _ scopes: RowScopes,
        after: Int64?
    ) async throws(Problem) -> Page<ModifierReport> {
        let filter = filter(command, scopes)
        var items: [ModifierReport] = []
        var bytes = 0
        var last = after.map(ModifierNumber.init)
        while items.count < command.limit {
            let (from, limit) = (last, command.limit - items.count)
            let found = try await storing(
                await store.modifiers.page(filter, after: from, limit: limit)
            )
            let leftOut = try await storing(
                await inapplicable(among: found.compactMap(\.readable))
            )
            for row in found {
                guard var report = try await storing(await listed(row)) else { continue }
                if leftOut.contains(row.number) { report.marks.append(.inapplicable) }
                items.append(report)
                bytes += report.byteCount
                guard bytes < Limits.modifierPageBytesMax else {
                    return Page(items: items, next: row.number.description)
                }
            }
            last = found.last?.number ?? last
            guard found.count == limit else { return Page(items: items) }
        }
        return Page(items: items, next: last.map(\.description))
    }

    private func settledPage(
        _ command: ModifierListCommand,
        _ scopes: RowScopes,
        before: Int64?
    ) async throws(Problem) -> Page<ModifierReport> {
        let limit = command.limit
        let found = try await storing(
            await store.modifiers.history(
                of: scopes,
                before: before,
                limit: limit,
                bytesMax: Limits.modifierPageBytesMax
            )
        )
        var items = found.map { ModifierReport($0) }
        if case .one(let state) = command.selection { items.removeAll { $0.state != .init(state) } }
        if let lane = lane(of: command, scopes) {
            items.removeAll { !$0.lanes.contains(lane.description) }
        }
        let bytes = found.reduce(0) { $0 + $1.answerBody.count }
        let hasMore = found.count == limit || bytes >= Limits.modifierPageBytesMax
        let next = hasMore ? found.last.map { String($0.place) } : nil
        return Page(items: items, next: next)
    }

    /// A row of a list; a dead letter also says what the user wanted.
    private func listed(_ row: FoundModifier) async throws(StoreError) -> ModifierReport? {
        if case .readable(let modifier) = row, modifier.state != .failed {
            return await report(of: modifier)
        }
        // The daemon may have lost some changes of an unreadable one, and not the modifier itself.
        let bytesMax = Limits.quotedBodyBytesMax
        let found = try await store.modifiers.whole(row.number, bodyBytesMax: bytesMax)
        guard let whole = found else {
            return try await store.modifiers.unreadable(row.number).map { ModifierReport($0) }
        }
        var report = await report(of: whole.modifier)
        report.tell(whole, bytesMax: bytesMax)
        return report
    }

    /// The report of a row; the machine adds what an unsettled modifier waits for.
    func report(of row: StoredModifier) async -> ModifierReport {
        var report = ModifierReport(row)
        guard !row.state.isSettled,
            case .success(let standing) = await context.modifiers.ask(row.number, { _, _ in [] })
        else { return report }
        report.waitingFor = standing.wait.flatMap { wait in
            ModifierWait(
                wait,
                at: row.origin,
                now: clock.now(),
                boot: clock.boot.monotonic()
            )
        }
        // A moment written while the clock was ahead: the queue waits for its duration at most.
        if let end = report.waitingFor?.until {
            report.nextAttemptAt = report.nextAttemptAt.map { min($0, end) }
        }
        if case .pausedLane = standing.wait { report.marks.append(.paused) }
        for number in standing.dependants.prefix(Limits.toldPendingMax) {
            guard let id = try? await store.modifiers.head(number)?.id else { continue }
            report.dependants.append(id.text)
        }
        return report
    }

    /// Each target's view without the modifier and with it, as they are now; of a dead letter, as
    /// they were when it died.
    private func targets(
        of whole: WholeModifier,
        _ scope: ScopeKey
    ) async throws(StoreError) -> [ModifierTarget] {
        guard !whole.modifier.state.isSettled else {
            let stored = { (bytes: [UInt8]?) -> ViewReport in
                bytes.map { .json($0, isComplete: true) } ?? .unknown
            }
            return whole.changes.map { change in
                ModifierTarget(
                    change.id,
                    before: stored(change.before),
                    after: stored(change.after)
                )
            }
        }
        let number = whole.modifier.number
        let (ids, origins) = (whole.modifier.targets, context.origins)
        return try await context.look(as: scope) { look throws(StoreError) in
            let reader = look.reader
            return try ids.map { id throws(StoreError) in
                guard let target = try reader.targets.target(scope, id) else {
                    return ModifierTarget(id)
                }
                let base = try look.base(of: target).value
                let before = Array(target.changes.prefix { $0.number < number })
                let through = Array(target.changes.prefix { $0.number <= number })
                let document = origins.document(id, for: scope.scope.uid)
                return ModifierTarget(
                    id,
                    before: try Self.view(of: id, base, before, document, reader),
                    after: try Self.view(of: id, base, through, document, reader)
                )
            }
        }
    }

    private static func view(
        of id: EntryID,
        _ base: TargetBase,
        _ changes: [OpenChange],
        _ document: DocumentRules?,
        _ reader: StoreReader
    ) throws(StoreError) -> ViewReport {
        let effects = changes.map(\.known)
        let values = TargetValues(base, of: id, effects, document)
        return try ViewReport(values.view(effects), of: base, values, changes, reader)
    }

    /// Unsettled modifiers with an effect that the view leaves out, as it does not fit the present
    /// value.
    ///
    /// Only the first ``Limits/judgedChangesMax`` changes of a target are checked.
    func inapplicable(
        among modifiers: [StoredModifier]
    ) async throws(StoreError) -> Set<ModifierNumber> {
        var wanted: [TargetName: Set<ModifierNumber>] = [:]
        for modifier in modifiers where !modifier.state.isSettled {
            let scope = store.key(for: modifier.scope)
            for id in modifier.targets {
                wanted[TargetName(scope, id), default: []].insert(modifier.number)
            }
        }
        let (places, origins) = (wanted, context.origins)
        return try await store.read { reader throws(StoreError) in
            var found: Set<ModifierNumber> = []
            for (place, numbers) in places {
                guard let last = numbers.max(),
                    let target = try reader.targets.target(
                        place.scope,
                        place.id,
                        upTo: last,
                        changesMax: Limits.judgedChangesMax
                    )
                else { continue }
                let uid = place.scope.scope.uid
                let document = place.id.isEntity ? nil : origins.document(place.id, for: uid)
                let view = target.view(on: TargetContent(target.base), document)
                found.formUnion(view.leftOut.map { target.changes[$0.place].number })
            }
            return found.intersection(Set(places.values.joined()))
        }
    }
}

extension ModifierReport {
    init(_ row: StoredModifier) {
        self.init(
            id: row.id.text,
            state: row.state,
            reason: row.reason,
            lanes: row.lanes,
            targets: row.targets,
            request: .init(
                method: row.method,
                url: row.url.text,
                bodyBytes: row.bodyByteCount,
                idempotencyKey: row.idempotencyKey
            ),
            attempts: row.attempts,
            of: row.scope,
            acceptedAt: row.acceptedAt,
            revision: row.revision
        )
        nextAttemptAt = row.nextAttemptAt.map { .init($0) }
        settledAt = row.settledAt.map { .init($0) }
        joinedInto = row.joinedInto?.text
        if row.isStalled { marks.append(.stalled) }
        if row.isAnswered { marks.append(.answered) }
        answer = row.answerStatus.map { status in
            ModifierAnswer(
                status: status,
                at: row.answerAt ?? row.settledAt ?? row.acceptedAt,
                unclearStatus: row.unclearStatus
            )
        }
    }

    /// Adds what a person needs to see or correct the modifier, and the last answer to it.
    mutating func tell(_ whole: WholeModifier, bytesMax: Int) {
        let row = whole.modifier
        answer = whole.answer.map { last in
            ModifierAnswer(
                status: last.status,
                headers: last.headers,
                body: last.body,
                at: last.at ?? row.settledAt ?? row.acceptedAt,
                unclearStatus: row.unclearStatus
            )
        }
        // An earlier version took secrets in a write, such as an API key.
        let shown = row.headers.fields.filter { !HeaderFields.holdsSecret($0.name) }
        request.headers = NamedValues(shown.map { .init($0.name, $0.value) })
        request.contentType = row.mediaType
        request.body = RawJSON(quotingBody: whole.body, upTo: bytesMax)
        conflict = whole.conflict
        var bytes = 0
        let named = whole.changes.filter { !$0.isImplied }
        let told = named.prefix { change in
            bytes += change.effect.count
            return bytes <= bytesMax
        }
        changes = told.map { LarderAPI.ModifierChange($0.id, storedEffect: $0.effect) }
        if told.count < named.count { moreChanges = named.count - told.count }
    }

    init(_ row: SettledModifier) {
        self.init(
            id: row.id,
            state: row.outcome,
            reason: row.reason,
            lanes: row.targets.map { .id($0) } + (row.laneName.map { [.name($0)] } ?? []),
            targets: row.targets,
            request: .init(
                method: row.method,
                url: row.url,
                bodyBytes: row.bodyByteCount,
                idempotencyKey: row.idempotencyKey
            ),
            attempts: row.attempts,
            of: row.scope,
            acceptedAt: row.acceptedAt,
            revision: row.revision
        )
        settledAt = .init(row.settledAt)
        joinedInto = row.joinedInto
        answer = row.answerStatus.map { status in
            ModifierAnswer(
                status: status,
                headers: row.answerHeaders,
                body: row.answerBody,
                at: row.answeredAt ?? row.settledAt
            )
        }
    }
}

extension ModifierWait {
    /// Nil for what ends in a moment by itself.
    fileprivate init?(
        _ wait: ModifierQueue.Wait,
        at origin: OriginName,
        now: Timestamp,
        boot: Duration
    ) {
        func moment(_ due: Duration) -> Timestamp { now.advanced(by: due - boot) }
        switch wait {
        case .hold(let end): self.init(reason: "hold", until: moment(end))
        case .lane(let lane, _): self.init(reason: "lane", name: lane.description)
        case .pausedLane(let lane): self.init(reason: "paused", name: lane.description)
        case .dependency: self.init(reason: "dependency")
        case .backoff(let end): self.init(reason: "backoff", until: moment(end))
        case .credential: self.init(reason: "credential", name: origin.text)
        case .decision: self.init(reason: "decision")
        case .offline(let end): self.init(reason: "offline", until: moment(end))
        case .captive(let end): self.init(reason: "captive", until: moment(end))
        case .probe: self.init(reason: "offline")
        case .setOffline: self.init(reason: "set_offline")
        case .rest(let end): self.init(reason: "retry_after", until: end.map(moment))
        case .turn: self.init(reason: "turn")
        case .answer: self.init(reason: "answer")
        case .confirmation(let end):
            self.init(reason: "confirmation", until: end.map(moment))
        case .commit: return nil
        }
    }
}
