import LarderModel
import LarderStore
import LarderStrategy
import LarderWire
import Logging
import Synchronization

/// Reads the targets of writes that have ended, until each has an answer (case 6).
///
/// The store keeps which rows these are, so that a restart loses none. A row ends with an answer to
/// a request that started after the write: a 2xx, a 304, or a refusal that stays. It also ends when
/// it was evicted. A failed read is repeated after growing pauses. While the origin is away there
/// are no reads: when it is back, ``begin(at:)`` reads all rows.
///
/// A shared row for which confirmed writes wait is read until an answer has ended their wait (case
/// 29).
final class ReadsAfterWrites: Sendable {
    private let context: EngineContext
    /// The tasks of the rows, of which up to a thousand wait for their turn.
    ///
    /// When a task ends, Swift searches its group from the oldest task on. So the flights have
    /// another group, and the oldest tasks of this one end first.
    let work = WorkQueue()
    private let state = Mutex(State())
    /// Keeps the rows of a long queue from using up all requests.
    private let turns = AsyncSemaphore(places: Limits.wantedReadsInFlightMax)

    private struct State {
        var rows: [TargetName: Row] = [:]
        /// The writes that rows wait for, without the rows that wait for none.
        var following: [TargetName: Set<ModifierID>] = [:]
        /// The rows of each user: they take no place of those of another.
        var counts = Quota<UInt32?>(each: Limits.wantedReadsMax)
        var pauseCount = 0
        /// The turns of each user, so that none waits for the rows of another.
        var users: [UInt32?: AsyncSemaphore] = [:]

        mutating func keepFollowing(of name: TargetName, where isLeft: (ModifierID) -> Bool) {
            let left: Set<ModifierID> = following[name]?.filter(isLeft) ?? []
            following[name] = left.isEmpty ? nil : left
        }

        mutating func remove(_ name: TargetName) {
            following[name] = nil
            if rows.removeValue(forKey: name) != nil { counts.release(name.scope.scope.uid) }
        }
    }

    private struct Row {
        var reading: Reading
        /// The step that ended the last write.
        var revision: Revision
        /// Whether an answer has not come yet that ends it.
        var isOpen = true
        /// Whether a confirmed write waits for the shared row.
        let isShared: Bool
        /// Whether a write of it was a DELETE, so that the row may need no read.
        let mayBeDeleted: Bool
        /// When the wait for further writes is over, however fast they follow each other.
        var runEnd: Duration
    }

    private enum Reading: Equatable {
        /// Whether another write has ended since the request.
        case underWay(isAgain: Bool)
        /// Waits for the next request; the number changes when a later write ends the pause.
        case pausing(Int)
    }

    init(_ context: EngineContext) { self.context = context }

    /// Reads the rows of one origin or all: after a start, and once the origin can be asked again.
    func begin(at origin: OriginName? = nil) async {
        do throws(StoreError) {
            for wanted in try await context.store.modifiers.wantedReads() {
                let name = TargetName(context.store.key(for: wanted.scope), wanted.id)
                let found = wanted.id.readOrigin(in: name.scope, context)?.name
                guard origin == nil || found == origin else { continue }
                read(name, since: wanted.revision)
            }
        } catch {
            // The next client that reads a row has it read again, as it is stale.
            context.note("the rows to be read were not listed", error)
        }
    }

    /// A write of a row has ended at a revision.
    func read(_ name: TargetName, since revision: Revision, isDeletion: Bool = false) {
        let isShared = context.store.keepsShared(name.scope, name.id)
        let isPausing = state.withLock { state -> Bool in
            if case .pausing? = state.rows[name]?.reading { true } else { false }
        }
        let rests = isPausing && isAtRest(name)
        let runEnd = context.clock.monotonic() + Limits.wantedReadDelay
        let isNew = state.withLock { state in
            let known = state.rows[name]
            var row = Row(
                reading: .underWay(isAgain: false),
                revision: max(revision, known?.revision ?? revision),
                isShared: isShared || known?.isShared == true,
                mayBeDeleted: isDeletion || known?.mayBeDeleted == true,
                runEnd: known?.runEnd ?? runEnd
            )
            state.following[name] = nil
            switch known?.reading {
            case .underWay: row.reading = .underWay(isAgain: true)
            // The origin has said itself when.
            case .pausing(let pause) where rests: row.reading = .pausing(pause)
            case .pausing, nil:
                // The store keeps the others.
                guard known != nil || state.counts.take(name.scope.scope.uid) else { return false }
                state.rows[name] = row
                return true
            }
            state.rows[name] = row
            return false
        }
        guard isNew else { return }
        // Refused only when the engine ends.
        _ = work.add { [self] in await run(name) }
    }

    private func run(_ name: TargetName) async {
        var (pause, isFirst) = (Duration.zero, true)
        while let found = name.id.readOrigin(in: name.scope, context) {
            if pause == .zero { guard await waitsForRun(name, found.name) else { return } }
            guard await !endsDeleted(name) else { return }
            let wait = max(pause, rest(of: found, name))
            let step = await waits(for: wait, name, found.name)
            if step == .ended { return }
            if step == .again, rest(of: found, name) > .zero { continue }
            // The origin may have other settings now, such as a new credential.
            guard let request = await FetchRequest.again(name.id, in: name.scope, context),
                let revision = begun(name)
            else { break }
            // A row that was evicted is not read again.
            if !isFirst, await isGone(name) { break }
            isFirst = false
            let outcome = await turns(of: name).pass {
                await turns.pass {
                    await context.flightStarter.answer(to: request, name.scope, startsNew: true)
                }
            }
            guard !Task.isCancelled else { return }
            if outcome.isFinal { await end(name, upTo: revision) }
            let next = min(max(pause * 2, Limits.pinRetryBase), Limits.modifierRetryMax)
            guard let isAgain = isToBeRead(name, request.origin.name, after: pause) else { return }
            pause = isAgain ? .zero : next
        }
        await end(name, upTo: Revision(.max))
        state.withLock { $0.remove(name) }
    }

    /// Waits a short time while other writes of the row follow; false if the task ends here.
    private func waitsForRun(_ name: TargetName, _ origin: OriginName) async -> Bool {
        while await hasFurtherWrites(name, origin) {
            let end = state.withLock { $0.rows[name]?.runEnd } ?? .zero
            let left = end - context.clock.monotonic()
            guard left > .zero else { return true }
            switch await waits(for: left, name, origin) {
            case .again: continue
            case .over: return true
            case .ended: return false
            }
        }
        return true
    }

    /// A request begins: returns the step that ended the last write which it comes after.
    private func begun(_ name: TargetName) -> Revision? {
        let runEnd = context.clock.monotonic() + Limits.wantedReadDelay
        return state.withLock { state in
            state.rows[name]?.runEnd = runEnd
            return state.rows[name]?.revision
        }
    }

    private func turns(of name: TargetName) -> AsyncSemaphore {
        let uid = name.scope.scope.uid
        return state.withLock { state in
            if let known = state.users[uid] { return known }
            let turns = AsyncSemaphore(places: Limits.wantedReadsPerUserMax)
            state.users[uid] = turns
            return turns
        }
    }

    private func isAtRest(_ name: TargetName) -> Bool {
        name.id.readOrigin(in: name.scope, context).map { rest(of: $0, name) > .zero } ?? false
    }

    private func rest(of origin: OriginSettings, _ name: TargetName) -> Duration {
        context.originStates.rest(of: origin.name, for: name.scope.scope)
    }

    // MARK: The row

    /// Whether other writes of the row, or of entities in it, follow soon.
    private func hasFurtherWrites(_ name: TargetName, _ origin: OriginName) async -> Bool {
        let modifiers = context.store.modifiers
        // Only an origin with entities has answers that show the targets of other writes.
        let showsOthers = modifiers.hasTargets && context.origins.entityRules[origin] != nil
        guard showsOthers || modifiers.isTarget(name.scope, name.id) else { return false }
        let scope = name.scope
        let found = try? await context.look(as: scope) {
            look throws(StoreError) -> Set<ModifierID> in
            let targets = look.reader.targets
            let changes = try targets.target(scope, name.id)?.changes ?? []
            let own = changes.first { [.queued, .inFlight].contains($0.state) }
            if let own, let id = try? ModifierID(own.modifier) { return [id] }
            look.isUse = false
            let pending = try look.view(of: name.id) { _, _ in }?.overlay.pending ?? []
            let first = pending.prefix(Limits.followingWritesMax)
            return try targets.sentSoon(of: first, in: scope)
        }
        guard let following = found, !following.isEmpty else { return false }
        state.withLock { if $0.rows[name] != nil { $0.following[name] = following } }
        // A write may have ended before the row waited for it.
        let left = try? await context.store.read { reader throws(StoreError) in
            try reader.targets.sentSoon(of: following, in: scope)
        }
        guard let left else { return true }
        state.withLock { $0.keepFollowing(of: name) { left.contains($0) } }
        return !left.isEmpty
    }

    /// Reads each row that has waited for a write, which has ended now, and for no other one.
    ///
    /// With a revision, this reads the targets of the write, too. `deleted` has the targets that a
    /// DELETE of the same step has perhaps deleted.
    func writeEnded(
        _ modifier: StoredModifier,
        in scope: ScopeKey,
        since revision: Revision?,
        deleted: Set<EntryID>
    ) {
        if let revision {
            // A read of its documents shows an entity that only effects name.
            for target in modifier.targets where !modifier.implied.contains(target) {
                let (name, isDeletion) = (TargetName(scope, target), deleted.contains(target))
                read(name, since: revision, isDeletion: isDeletion)
            }
        }
        let id = modifier.id
        let ready = state.withLock { state in
            var ready: [(TargetName, Revision)] = []
            for (name, following) in state.following where name.scope == scope {
                guard following.contains(id) else { continue }
                state.keepFollowing(of: name) { $0 != id }
                guard state.following[name] == nil, let row = state.rows[name] else { continue }
                ready.append((name, row.revision))
            }
            return ready
        }
        for (name, revision) in ready { read(name, since: revision) }
    }

    /// Ends the reads of a row that the last write has deleted; false for any other row.
    private func endsDeleted(_ name: TargetName) async -> Bool {
        guard let row = state.withLock({ $0.rows[name] }), row.mayBeDeleted, !row.isShared
        else { return false }
        let isDeleted = try? await context.look(as: name.scope) { look throws(StoreError) in
            guard try !look.reader.targets.isToBeRead(name) else { return false }
            (look.form, look.isUse) = (.base, false)
            let view = try look.view(of: name.id) { _, _ in }
            return if case .deleted = view?.content { true } else { false }
        }
        guard isDeleted == true else { return false }
        return state.withLock { state in
            guard state.rows[name]?.revision == row.revision else { return false }
            state.remove(name)
            return true
        }
    }

    /// Whether the row was evicted; one that a write still waits for cannot be, even if it shows
    /// nothing.
    private func isGone(_ name: TargetName) async -> Bool {
        guard !context.store.modifiers.isTarget(name.scope, name.id) else { return false }
        let isThere = try? await context.look(as: name.scope) { look throws(StoreError) in
            try look.head(of: name.id) != nil
        }
        return isThere == false
    }

    /// The row was read, or cannot be.
    private func end(_ name: TargetName, upTo revision: Revision) async {
        await context.retryUntilSuccess("a read was not noted") { () async throws(StoreError) in
            try await self.context.store.modifiers.readEnded(name, upTo: revision)
        }
        state.withLock { state in
            guard let row = state.rows[name], row.revision <= revision else { return }
            state.rows[name]?.isOpen = false
        }
    }

    // MARK: Pauses

    private enum Wait {
        case over
        /// A write has ended since the last look.
        case again
        /// Another task makes the next request, or none is needed.
        case ended
    }

    /// Waits before the next request for a row.
    private func waits(
        for pause: Duration,
        _ name: TargetName,
        _ origin: OriginName
    ) async -> Wait {
        guard pause > .zero else { return Task.isCancelled ? .ended : .over }
        let pausing: Reading? = state.withLock { state in
            if state.rows[name]?.reading == .underWay(isAgain: true) {
                state.rows[name]?.reading = .underWay(isAgain: false)
                return nil
            }
            state.pauseCount += 1
            let pausing = Reading.pausing(state.pauseCount)
            state.rows[name]?.reading = pausing
            return pausing
        }
        guard let pausing else { return .again }
        let isFinished = (try? await context.clock.sleep(for: pause)) != nil
        return state.withLock { state in
            guard let row = state.rows[name], row.reading == pausing else { return .ended }
            let isToBeRead = isFinished && isWanted(row, name, origin)
            if isToBeRead {
                state.rows[name]?.reading = .underWay(isAgain: false)
            } else {
                state.remove(name)
            }
            return isToBeRead ? .over : .ended
        }
    }

    /// Whether a row is read once more, and then whether without a pause; nil where its task ends.
    private func isToBeRead(
        _ name: TargetName,
        _ origin: OriginName,
        after pause: Duration
    ) -> Bool? {
        state.withLock { state in
            guard let row = state.rows[name] else { return nil }
            let isAgain = row.reading == .underWay(isAgain: true)
            // An answer that has ended no wait was not stored, or its request was too early.
            let isRepeated = row.isOpen || row.isShared && pause < Limits.pinRetryMax
            guard isAgain || isRepeated, isWanted(row, name, origin) else {
                state.remove(name)
                return nil
            }
            state.rows[name]?.reading = .underWay(isAgain: false)
            return isAgain
        }
    }

    private func isWanted(_ row: Row, _ name: TargetName, _ origin: OriginName) -> Bool {
        guard !context.originStates.isDown(origin) else { return false }
        return row.isShared ? context.store.modifiers.isTarget(name.scope, name.id) : row.isOpen
    }
}

extension FlightOutcome {
    /// Whether it ends a read after a write.
    fileprivate var isFinal: Bool {
        switch self {
        case .current(let answer): !answer.isOvertaken
        case .deleted, .passed: true
        case .refused(let refusal, _):
            (400..<500).contains(refusal.status)
                && ![401, 407, 408, 425, 429].contains(refusal.status)
        case .failed: false
        }
    }
}
