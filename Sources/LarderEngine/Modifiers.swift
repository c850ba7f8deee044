import LarderJSON
package import LarderModel
package import LarderStore
import LarderStrategy
package import LarderWire

import struct LarderAPI.ModifierStats

package struct Modifiers: EnginePart {
    let context: EngineContext
    private var queue: ModifierQueueRunner { context.modifiers }
    private var reports: ModifierReports { ModifierReports(context: context) }
    private var names: TargetNames { TargetNames(context: context) }

    private typealias Refusal = ModifierQueue.Refusal

    // MARK: Accepting

    /// Accepts all modifiers of a command, or none; returns their receipts in their order.
    ///
    /// The modifiers are on disk, synced, before this returns (P-01).
    ///
    /// A repeated command with the same id is the same modifier, even if its targets have changed
    /// since.
    ///
    /// `byteCount` is the size of the command: a large one is processed off the event loop.
    package func accept(
        _ command: ModifiersCommand,
        _ scope: ScopeKey,
        client: ClientTag? = nil,
        byteCount: Int = 0
    ) async throws(Problem) -> [ModifierReceipt] {
        let now = clock.now()
        let known = try await repeated(command, scope, byteCount)
        let (ready, places, acceptances) = try await accepted(
            command,
            without: known,
            scope,
            client,
            now,
            byteCount
        )
        let newCount = acceptances.count(where: \.isNew)
        context.meter.count { $0.modifiers.accepted += Int64(newCount) }
        let accepted = zip(ready, acceptances).compactMap { modifier, acceptance in
            StoredModifier(modifier, acceptance, at: now)
        }
        if !accepted.isEmpty { queue.arrived(accepted) }
        for (modifier, acceptance) in zip(ready, acceptances) {
            guard case .accepted(_, _, let variants, _) = acceptance else { continue }
            await Variants.tell(variants, scope, of: ChangeCause(modifier), in: context)
        }
        var receipts: [ModifierReceipt] = []
        for (place, modifier) in zip(places, command.modifiers) {
            if let place {
                receipts.append(try await receipt(ready[place], acceptances[place]))
            } else if let id = modifier.id, let known = known[id] {
                receipts.append(try await receipt(known.number, id, scope, known.revision))
            }
        }
        return receipts
    }

    /// Accepts those modifiers of a command that are not known; `places` has the index of each
    /// modifier of the command among them, or nil for a known one.
    ///
    /// If a temporary id gets its real id meanwhile, this looks again.
    private func accepted(
        _ command: ModifiersCommand,
        without known: [ModifierID: Submission],
        _ scope: ScopeKey,
        _ client: ClientTag?,
        _ now: Timestamp,
        _ byteCount: Int
    ) async throws(Problem) -> (new: [NewModifier], places: [Int?], acceptances: [Acceptance]) {
        for _ in 0..<Limits.commandRoundsMax {
            var new: [NewModifier] = []
            var places: [Int?] = []
            var given: [ModifierID: Int] = [:]
            var lists: [EntryID: [TargetContent]] = [:]
            for modifier in command.modifiers {
                guard modifier.id.flatMap({ known[$0] }) == nil else {
                    places.append(nil)
                    continue
                }
                var next = try await self.modifier(modifier, scope, new, &lists, now, byteCount)
                next.client = client
                // A modifier that is twice in a list counts once.
                let place = given[next.id] ?? new.count
                if place == new.count { new.append(next) }
                guard new[place].digest == next.digest else {
                    throw Problem(StoreError.modifierExists)
                }
                given[next.id] = place
                places.append(place)
            }
            guard !new.isEmpty else { return ([], places, []) }
            do throws(StoreError) {
                let look = Conflicts(context: context).look(scope)
                let accepted = try await store.modifiers.accept(new, now: now, seeing: look)
                return (new, places, accepted)
            } catch .otherIDs {
                continue
            } catch {
                throw Problem(error)
            }
        }
        throw Problem(StoreError.otherIDs)
    }

    /// `edited` is the modifier that the new one replaces.
    ///
    /// `documents` are the lists that were read for the modifier before, then those for this one.
    func modifier(
        _ command: ModifierCommand,
        _ scope: ScopeKey,
        _ before: [NewModifier],
        _ documents: inout [EntryID: [TargetContent]],
        _ now: Timestamp,
        _ byteCount: Int,
        editing edited: StoredModifier? = nil
    ) async throws(Problem) -> NewModifier {
        let (given, mediaType) = try await command.request.bytes(context, scope)
        var headers = command.request.headers
        let type = headers["Content-Type"] ?? mediaType
        headers.remove("Content-Type")
        let resolved = try await TemporaryNames(context: context).resolved(
            command,
            body: given,
            type,
            scope,
            after: before,
            editing: edited
        )
        let (known, body) = (resolved.command, resolved.body)
        let targets = try await names.targets(of: known, scope)
        let (url, origin) = try names.address(of: known.request, targets, scope, resolved.origins)
        try origin.refuseSecret(in: command.request.headers, of: scope.scope)
        let id = command.id ?? context.modifierID(at: now)
        let (digest, effects) = try await storing(
            await store.work(onBytes: byteCount) {
                (command.digest, known.changes.map(\.effect.bytes))
            }
        )
        let (placed, written) = (PlacedChanges(context: context), known.changes.map(\.effect))
        documents = try await placed.documents(targets, written, scope, known: documents)
        var new = NewModifier(
            id: id,
            scope: scope,
            origin: origin.name,
            request: QueuedRequest(
                method: command.request.method,
                url: url,
                headers: headers,
                mediaType: type,
                body: body
            ),
            changes: placed.adding(
                to: zip(effects, targets).map { NewChange(of: $1, $0, scope, context) },
                written,
                documents,
                scope
            ),
            digest: digest
        )
        new.temporaries = resolved.uses
        new.isIDMade = command.id == nil
        new.lane = command.lane
        new.holdUntil = command.hold.flatMap { $0 > .zero ? now.advanced(by: $0) : nil }
        new.expiresAt = command.expires.map { now.advanced(by: $0) }
        new.attemptsMax = command.attemptsMax
        new.afterUnknown = command.afterUnknown
        new.credential = origin.credentialKind
        (new.ifMatch, new.onConflict) = (command.ifMatch, command.onConflict)
        for parent in command.dependsOn {
            if let number = try await dependency(parent, scope, before) {
                new.dependsOn.append(number)
            }
        }
        return new
    }

    /// The number of a modifier that has to be confirmed first; nil if it is confirmed already.
    private func dependency(
        _ id: ModifierID,
        _ scope: ScopeKey,
        _ before: [NewModifier]
    ) async throws(Problem) -> ModifierNumber? {
        guard !before.contains(where: { $0.id == id }) else {
            throw Problem(
                .unsupported,
                "depends_on: '\(id)' is in the same list",
                hint: "Give it first, and this one in a request of its own."
            )
        }
        let (number, report) = try await reports.report(id, scope)
        let isAnswered = report.state == .accepted && report.marks.contains(.answered)
        guard report.state != .confirmed, !isAnswered else { return nil }
        guard !report.state.isSettled else {
            throw Problem(
                .alreadySettled,
                "depends_on: '\(id)' was not confirmed, but is \(report.state)"
            )
        }
        return number
    }

    // MARK: Looking

    /// The report of a modifier; with `wait`, once it is settled or the time is over.
    ///
    /// Throws if the daemon ends before that.
    package func modifier(
        _ id: ModifierID,
        _ scope: ScopeKey,
        wait time: Duration? = nil,
        cancellation: ClientCancellation = ClientCancellation()
    ) async throws(Problem) -> ModifierReport {
        let (number, report) = try await reports.report(id, scope)
        guard let time, !report.isDone else { return report }
        let outcome = try await context.wait(upTo: time, cancellation, on: queue.settlements) {
            () async throws(Problem) -> Void? in
            try await isSettled(number, orAnswered: true) ? () : nil
        }
        if case .ended(.daemonEnds) = outcome { throw .daemonEnds }
        return try await reports.report(id, scope).1
    }

    /// A page of modifiers; with `wait`, of those that are neither settled nor answered, once there
    /// are none or the time is over.
    package func list(
        _ command: ModifierListCommand,
        _ scopes: RowScopes,
        cancellation: ClientCancellation = ClientCancellation()
    ) async throws(Problem) -> Page<ModifierReport> {
        if let time = command.wait {
            let pending = reports.filter(command, scopes)
            let outcome = try await context.wait(upTo: time, cancellation, on: queue.settlements) {
                () async throws(Problem) -> Void? in
                let left = try await storing(
                    await store.modifiers.page(pending, after: nil, limit: 1)
                )
                return left.isEmpty ? () : nil
            }
            if case .ended(.daemonEnds) = outcome { throw .daemonEnds }
        }
        return try await reports.page(command, scopes)
    }

    /// Whether a modifier has left the queue, also as a dead letter.
    ///
    /// With `orAnswered`, the confirmation of the origin is enough.
    private func isSettled(
        _ number: ModifierNumber,
        orAnswered: Bool = false
    ) async throws(Problem) -> Bool {
        let head = try await storing(await store.modifiers.head(number))
        return head.map { $0.state == .failed || orAnswered && $0.isAnswered } ?? true
    }

    // MARK: Changes by clients

    /// Cancels a modifier, gives it up, or drops a dead letter, if the arguments allow that.
    ///
    /// The change is on disk when this returns.
    package func remove(
        _ id: ModifierID,
        _ scope: ScopeKey,
        discarding isDiscarding: Bool,
        dropping mayDrop: Bool = true,
        cancellation: ClientCancellation = ClientCancellation()
    ) async throws(Problem) {
        let (number, report) = try await reports.report(id, scope)
        guard report.state != .failed || !mayDrop else {
            return try await ModifierActions(context: context).drop(id, scope)
        }
        guard !report.state.isSettled else { throw .alreadySettled(report) }
        try await change(number, report, cancellation) { queue, now throws(Refusal) in
            isDiscarding
                ? try queue.discardAsked(number, now: now)
                : try queue.cancelAsked(number, withDependants: true, now: now)
        } isWritten: { () async throws(Problem) in
            try await isSettled(number)
        }
    }

    /// Asks the machine for something as soon as no step of the modifier is being written, and
    /// waits until the change is on disk.
    func change(
        _ number: ModifierNumber,
        _ report: ModifierReport,
        _ cancellation: ClientCancellation,
        _ wish: @escaping ModifierQueueRunner.Command,
        isWritten: () async throws(Problem) -> Bool = { true }
    ) async throws(Problem) {
        var isTaken = false
        let outcome = try await context.wait(
            upTo: Limits.modifierStepTime,
            cancellation,
            on: queue.commits
        ) { () async throws(Problem) -> Void? in
            if !isTaken { isTaken = try await ask(number, report, wish) }
            guard isTaken, try await isWritten() else { return nil }
            return ()
        }
        if case .ended(let end) = outcome { throw .notWritten(report, end) }
    }

    /// Has a modifier sent again as soon as its lanes are free.
    package func retry(
        _ id: ModifierID,
        _ scope: ScopeKey,
        cancellation: ClientCancellation = ClientCancellation()
    ) async throws(Problem) -> ModifierReceipt {
        let (number, report) = try await reports.report(id, scope)
        guard report.state == .failed else {
            guard !report.state.isSettled else { throw .alreadySettled(report) }
            try await change(number, report, cancellation) { [context] queue, now throws(Refusal) in
                let actions = try queue.retryAsked(number, now: now)
                // A person ends the rest, for later modifiers of the account too.
                if let (origin, scope) = queue.account(of: number) {
                    context.health.change(origin) { $0.restEnded(of: scope) }
                }
                return actions
            } isWritten: { () async throws(Problem) in
                await queue.isWritten(number)
            }
            return ModifierReceipt(id: id, state: .queued, revision: Revision(report.rev))
        }
        let now = clock.now()
        let requeued = try await storing(
            await store.modifiers.retry(
                number,
                of: scope,
                sharing: { context.sharedScope(of: $0, for: scope) != nil },
                variants: { context.variantPlaces(of: $0, scope) },
                seeing: Conflicts(context: context).look(scope),
                now: now
            )
        )
        guard let requeued else { throw .noSuchModifier(id) }
        queue.arrived()
        await Variants.tell(requeued.variants, scope, of: requeued.cause, in: context)
        let again = try await reports.report(id, scope).1
        return ModifierReceipt(id: id, state: again.state, revision: Revision(again.rev))
    }

    /// Asks the machine for something; false while a step of the modifier is being written.
    private func ask(
        _ number: ModifierNumber,
        _ report: ModifierReport,
        _ wish: @escaping ModifierQueueRunner.Command
    ) async throws(Problem) -> Bool {
        switch await queue.ask(number, wish) {
        case .success: return true
        case .failure(.notNow): return false
        case .failure(.notFound): throw .alreadySettled(report)
        case .failure(.inFlight):
            throw Problem(.alreadySent, "'\(report.id)' is on its way to the origin")
        case .failure(.alreadySent):
            throw Problem(.alreadySent, "'\(report.id)' may have been applied")
        case .failure(.hasDependants):
            throw Problem(.alreadySent, "others depend on '\(report.id)'")
        case .failure(.nothingToRetry):
            throw Problem(
                .alreadySent,
                "'\(report.id)' is \(report.state.rawValue): it is sent as soon as it can be",
                hint: "See what it waits for with GET /v1/modifiers/ID."
            )
        }
    }

    /// The paused lanes of a scope, at most ``Limits/pausedLanesMax`` of each user.
    package func pausedLanes(_ scopes: RowScopes) async throws(Problem) -> [LaneItem] {
        let lanes = try await storing(await store.modifiers.pausedLanes())
        return lanes.compactMap { scope, lane -> LaneItem? in
            guard scopes.covers(scope), case .own(let uid, let account) = scope else { return nil }
            return LaneItem(lane: lane.description, paused: true, user: uid, account: account.text)
        }
    }

    /// Pauses or resumes a lane; it is on disk when this returns.
    package func setLane(_ lane: Lane, _ scope: ScopeKey, isPaused: Bool) async throws(Problem) {
        let lane = names.named(lane, scope)
        try await storing(await store.modifiers.setPaused(scope, lane, isPaused))
        let owner = scope.scope
        queue.post(
            .told { queue, now in
                isPaused
                    ? queue.lanePaused(lane, of: owner, now: now)
                    : queue.laneResumed(lane, of: owner, now: now)
            }
        )
    }
}

extension ModifierCommand.Request {
    /// The bytes that are sent, with their type where the client has not given one.
    func bytes(
        _ context: EngineContext,
        _ scope: ScopeKey
    ) async throws(Problem) -> ([UInt8], mediaType: String?) {
        let id: EntryID
        switch body {
        case .none: return ([], nil)
        case .bytes(let bytes): return (bytes, nil)
        case .entry(let entry): id = entry
        }
        let answer = try await storing(
            await context.look(as: scope) { look throws(StoreError) in try look.answer(of: id) }
        )
        guard let found = answer, found.entry.kind != .tombstone else {
            throw Problem(.miss, "body_entry: nothing is cached under '\(id)'")
        }
        let entry = found.entry
        guard entry.body.byteCount <= Limits.modifierBodyBytesMax else {
            throw Problem(
                .bodyTooLarge,
                "body_entry: '\(id)' has \(entry.body.byteCount) bytes, at most "
                    + "\(Limits.modifierBodyBytesMax) are sent"
            )
        }
        let now = context.clock.now()
        guard let bytes = try await storing(await found.bytes(context.store, now: now)) else {
            throw Problem(.miss, "body_entry: '\(id)' was replaced just now")
        }
        return (bytes, entry.mediaType ?? "application/octet-stream")
    }
}
