import LarderAPI
import LarderModel
import LarderStore
import LarderStrategy
import LarderWire
import Logging
import Synchronization

/// Makes pins what the lists of sets say, and tells the states of the sets.
///
/// Every step starts from the lists and the pins in `state.db`, so that a step that was cut off is
/// done again. The task begins with the first set, and runs until the daemon ends.
///
/// Each set of a user in turn has its queries evaluated if they are due, and gets a step of at most
/// ``Limits/prefetchStepRowsMax`` rows. The failure of one set keeps none from its turn. The sets
/// of each user have a task of their own, so that no user waits for another.
final class PrefetchRunner: Sendable {
    private struct State {
        var isRunning = false
        /// The state of each set that was told last.
        var told: [Int64: PrefetchState] = [:]
        /// The last entry of each list that has got its pin.
        var pinned: [Int64: Int64] = [:]
        /// Rows whose interval may be another one.
        var changed: Set<TargetName> = []
        /// Whether pins may be left of sets that are no more.
        var hasReleased = true
        /// Moment of the next look at every set, also at those that were ready.
        var wholeDue = Duration.zero
        /// The last evaluation of each set's queries, and its time.
        var queries: [Int64: (last: PrefetchList.LastQuery, at: Timestamp)] = [:]
        /// Users whose sets are being filled, with the sets that a look has found meanwhile.
        var filling: [UInt32: [PrefetchSet]] = [:]
        /// Users whose next turn looks at every set.
        var whole: Set<UInt32> = []
        /// The moment of the boot clock at which each set ends, and the end that was stored then.
        var ends: [Int64: (stored: Timestamp, due: Duration)] = [:]
        /// Failures in a row of each set whose pins could not be written, and the next attempt.
        var failures: [Int64: (count: Int, due: Duration)] = [:]
        /// Users for whose pins there is room again.
        var roomCame: Set<UInt32?> = []
    }

    /// The time until the next step.
    private struct Next {
        var wait = Limits.prefetchRestTime
        /// Whether there is more to do now.
        var hasMore = false

        mutating func come(after time: Duration) { wait = min(wait, max(time, .milliseconds(1))) }
    }

    private let state = Mutex(State())
    private let mailbox = Mailbox<Void>()
    /// Keeps looks from piling up.
    private let isLooking = Flag()
    private let isUrgent = Flag()
    /// Told after each look at the sets.
    let listeners = Listeners()
    /// Sets whose sizes are looked up, by users.
    let sizings = Mutex(Quota<UInt32?>(each: 1))

    /// A set is made, has a new list or is removed; `changed` are rows that it had polled.
    func look(_ context: EngineContext, reapplying changed: [TargetName] = []) {
        let isFirst = state.withLock { state in
            defer { state.isRunning = true }
            state.changed.formUnion(changed)
            (state.hasReleased, state.wholeDue, state.pinned) = (true, .zero, [:])
            return !state.isRunning
        }
        if isFirst { _ = context.work.add { await self.run(context) } }
        isUrgent.raise()
        ring()
    }

    /// Tells that sets are gone, after which no other state of them is told.
    func removed(_ sets: [PrefetchSet], _ newState: PrefetchState, _ context: EngineContext) {
        state.withLock { state in
            for set in sets {
                state.told[set.number] = .removed
                context.watchers.prefetchChanged(set.scope, set.name, newState.rawValue)
            }
        }
        if !sets.isEmpty { look(context) }
    }

    /// There is room again for what could not be pinned, or was too large.
    func roomCame(to uid: UInt32?, _ context: EngineContext) {
        _ = state.withLock { $0.roomCame.insert(uid) }
        context.keeper.post(.roomRaised(uid))
    }

    private func ring() {
        if isLooking.raise() { mailbox.post(()) }
    }

    private func run(_ context: EngineContext) async {
        let seats = [context.keeper.listeners, context.credentials.news].map { news in
            (news, news.add { [weak self] in self?.ring() })
        }
        defer { for (news, seat) in seats { news.remove(seat) } }
        await withDiscardingTaskGroup { group in
            let timer = DeadlineTimer()
            group.addTask { await timer.run(context.clock) { self.ring() } }
            var earliest = Duration.zero
            for await _ in mailbox.events {
                isLooking.lower()
                guard isUrgent.isUp || context.clock.monotonic() >= earliest else {
                    timer.set(earliest)
                    continue
                }
                isUrgent.lower()
                let next = await step(context)
                let now = context.clock.monotonic()
                earliest = now + Limits.prefetchLookTime
                listeners.tell()
                timer.set(now + next.wait)
                guard next.hasMore else { continue }
                isUrgent.raise()
                ring()
            }
            group.cancelAll()
        }
    }

    private func step(_ context: EngineContext) async -> Next {
        let now = context.clock.monotonic()
        let isWhole = state.withLock { state in
            guard state.wholeDue <= now else { return false }
            state.wholeDue = now + Limits.prefetchRestTime
            return true
        }
        var next = Next()
        do throws(StoreError) {
            let all = try await context.store.prefetches.sets(.all)
            let sets = try await expire(all, context, &next)
            try await release(context, &next)
            let wall = context.clock.now()
            for set in sets {
                guard let interval = set.refresh else { continue }
                let left = timeToQuery(set, every: interval, at: wall)
                next.come(after: left > .zero ? left : interval)
            }
            fill(sets, isWhole: isWhole, context, &next)
            for name in state.withLock({ $0.changed }) {
                try await repoll(name, context)
                _ = state.withLock { $0.changed.remove(name) }
            }
        } catch {
            note(error, context, &next)
        }
        return next
    }

    private func note(_ error: StoreError, _ context: EngineContext, _ next: inout Next) {
        context.note("a set to prefetch was not looked at", error)
        next.come(after: Limits.pinRetryBase)
    }

    /// Ends sets whose time is over; returns the others.
    private func expire(
        _ sets: [PrefetchSet],
        _ context: EngineContext,
        _ next: inout Next
    ) async throws(StoreError) -> [PrefetchSet] {
        var left: [PrefetchSet] = []
        for set in sets {
            let rest = timeLeft(of: set, context.clock)
            if rest.map({ $0 > .zero }) ?? true {
                if let rest { next.come(after: rest) }
                left.append(set)
                continue
            }
            let scope = context.store.key(for: set.scope)
            let ids = set.refresh == nil ? [] : try await context.store.prefetches.ids(set)
            let ended = try await context.store.prefetches.remove(.one(scope)) { $0 == set }
            state.withLock { $0.changed.formUnion(ids.map { TargetName(scope, $0) }) }
            removed(ended, .expired, context)
        }
        let numbers = Set(left.map(\.number))
        state.withLock { state in
            // A turn that goes on tells no other state of a set that is gone.
            let isFilling = !state.filling.isEmpty
            state.told = state.told.filter {
                numbers.contains($0.key) || isFilling && $0.value == .removed
            }
            state.pinned = state.pinned.filter { numbers.contains($0.key) }
            state.queries = state.queries.filter { numbers.contains($0.key) }
            state.failures = state.failures.filter { numbers.contains($0.key) }
            state.ends = state.ends.filter { numbers.contains($0.key) }
        }
        return left
    }

    /// The time until a set ends; nil if it has no end.
    ///
    /// The wall clock counts at the first look only, as it may be set while the daemon runs. It may
    /// be behind then: no set has more than its whole time left.
    private func timeLeft(of set: PrefetchSet, _ clock: any EngineClock) -> Duration? {
        guard let end = set.expiresAt else { return nil }
        let now = clock.boot.monotonic()
        let left = min(end.since(clock.now()), end.since(set.madeAt))
        return state.withLock { state in
            if let known = state.ends[set.number], known.stored == end { return known.due - now }
            state.ends[set.number] = (end, now + left)
            return left
        }
    }

    /// Unpins some rows that no set keeps any more.
    private func release(_ context: EngineContext, _ next: inout Next) async throws(StoreError) {
        guard state.withLock({ $0.hasReleased }) else { return }
        state.withLock { $0.hasReleased = false }
        do throws(StoreError) {
            let names = try await context.store.prefetches.release()
            state.withLock { state in
                state.changed.formUnion(names)
                if names.count == Limits.prefetchStepRowsMax { state.hasReleased = true }
            }
            for uid in Set(names.map(\.scope.scope.uid)) { roomCame(to: uid, context) }
            if !names.isEmpty { next.hasMore = true }
        } catch {
            state.withLock { $0.hasReleased = true }
            throw error
        }
    }

    /// Begins a turn of each user's sets, or leaves another turn to the task that fills them.
    private func fill(
        _ sets: [PrefetchSet],
        isWhole: Bool,
        _ context: EngineContext,
        _ next: inout Next
    ) {
        let now = context.clock.monotonic()
        for due in state.withLock({ $0.failures.values.map(\.due) }) { next.come(after: due - now) }
        for case (let uid?, let sets) in Dictionary(grouping: sets, by: \.scope.uid) {
            let isBusy = state.withLock { state in
                if isWhole { state.whole.insert(uid) }
                return state.filling.updateValue(sets, forKey: uid) != nil
            }
            if isBusy { continue }
            _ = context.work.add {
                await Reading.$current.withValue(.asked(by: .uid(uid))) {
                    while let sets = self.nextTurn(of: uid) { await self.fill(sets, uid, context) }
                }
            }
        }
    }

    private func nextTurn(of uid: UInt32) -> [PrefetchSet]? {
        state.withLock { state -> [PrefetchSet]? in
            let sets = state.filling[uid] ?? []
            state.filling[uid] = sets.isEmpty ? nil : []
            return sets.isEmpty ? nil : sets
        }
    }

    private func fill(_ sets: [PrefetchSet], _ uid: UInt32, _ context: EngineContext) async {
        let (isWhole, hasRoom) = state.withLock { state in
            (state.whole.remove(uid) != nil, state.roomCame.remove(uid) != nil)
        }
        var next = Next()
        for set in sets {
            do throws(StoreError) {
                try await fill(set, isWhole: isWhole, hasRoom: hasRoom, context, &next)
            } catch {
                note(error, context, &next)
            }
        }
        listeners.tell()
        if next.hasMore { isUrgent.raise() }
        // The next look finds when what failed is due.
        if next.hasMore || next.wait < Limits.prefetchRestTime { ring() }
    }

    private func fill(
        _ set: PrefetchSet,
        isWhole: Bool,
        hasRoom: Bool,
        _ context: EngineContext,
        _ next: inout Next
    ) async throws(StoreError) {
        let store = context.store.prefetches
        let isQueried = await query(set, context)
        // The next look unpins the entries that have left the list.
        if isQueried { next.hasMore = true }
        let isReady = state.withLock { state in
            if isWhole || hasRoom || isQueried { state.pinned[set.number] = nil }
            return state.told[set.number] == .ready
        }
        guard isWhole || hasRoom || isQueried || !isReady else { return }
        if isWhole || hasRoom { try await store.retry(set, all: hasRoom) }
        let failure = await pinSome(set, context, &next)
        // Before the old list is looked at: the next look at a set that is told as ready comes late.
        let counts = try await store.counts(set)
        let leaving = try await store.endOldList(of: set)
        if !leaving.isEmpty {
            let scope = context.store.key(for: set.scope)
            state.withLock { state in
                state.changed.formUnion(leaving.map { TargetName(scope, $0) })
                state.hasReleased = true
            }
            next.hasMore = true
        }
        try await poll(set, context)
        tell(try await stateNow(of: set, counts, context), set, context)
        if let failure { throw failure }
    }

    private func tell(_ newState: PrefetchState, _ set: PrefetchSet, _ context: EngineContext) {
        state.withLock { state in
            let old = state.told[set.number]
            guard old != newState, old != .removed else { return }
            state.told[set.number] = newState
            context.watchers.prefetchChanged(set.scope, set.name, newState.rawValue)
        }
    }

    /// Pins some entries of a list; after a failure not before a while has passed.
    private func pinSome(
        _ set: PrefetchSet,
        _ context: EngineContext,
        _ next: inout Next
    ) async -> StoreError? {
        let now = context.clock.monotonic()
        let failed = state.withLock { $0.failures[set.number] }
        if let failed, failed.due > now { return nil }
        do throws(StoreError) {
            if try await pin(set, context) { next.hasMore = true }
            state.withLock { $0.failures[set.number] = nil }
            return nil
        } catch {
            let count = min((failed?.count ?? 0) + 1, 6)
            let pause = min(Limits.pinRetryBase * (1 << count), Limits.prefetchRestTime)
            state.withLock { $0.failures[set.number] = (count, now + pause) }
            return error
        }
    }

    // MARK: Pins

    /// Pins entries of a list that have no pin; true if there may be more.
    private func pin(_ set: PrefetchSet, _ context: EngineContext) async throws(StoreError) -> Bool
    {
        let last = state.withLock { $0.pinned[set.number] } ?? 0
        let items = try await context.store.prefetches.unpinned(set, after: last)
        guard let end = items.last?.item else { return false }
        let ids = items.map(\.id)
        // At the same time, so that they share commits.
        let failure = await withTaskGroup(of: StoreError?.self) { group in
            for id in ids {
                group.addTask {
                    do throws(StoreError) {
                        try await self.pin(id, of: set, context)
                        return nil
                    } catch {
                        return error
                    }
                }
            }
            return await group.reduce(into: StoreError?.none) { $0 = $0 ?? $1 }
        }
        context.keeper.post(.wanted)
        if let failure { throw failure }
        state.withLock { $0.pinned[set.number] = end }
        return ids.count == Limits.prefetchStepRowsMax
    }

    private func pin(
        _ id: EntryID,
        of set: PrefetchSet,
        _ context: EngineContext
    ) async throws(StoreError) {
        let store = context.store
        let scope = store.key(for: set.scope)
        do throws(StoreError) {
            let outcome = try await store.pins.pin(
                scope,
                id,
                origin: PinAttempt(context, scope, id)?.name,
                adoptsShared: context.sharedScope(of: id, for: scope) != nil,
                for: .set,
                now: context.clock.now()
            )
            guard outcome == .miss else { return }
            let reason = "it belongs to no configured origin"
            let trouble = PinTrouble(problem: ProblemKind.unknownOrigin.rawValue, reason: reason)
            try await store.prefetches.setTrouble(set, id, trouble)
        } catch {
            switch error {
            case .pinsFull, .tooManyPins:
                let kind = ProblemKind.pinsFull.rawValue
                let trouble = PinTrouble(problem: kind, reason: error.message)
                try await store.prefetches.setTrouble(set, id, trouble)
            case _: throw error
            }
        }
    }

    // MARK: Refresh

    /// The time until the queries of a set are evaluated again.
    private func timeToQuery(
        _ set: PrefetchSet,
        every interval: Duration,
        at now: Timestamp
    ) -> Duration {
        let known = state.withLock { $0.queries[set.number]?.at } ?? set.queriedAt
        return interval - max(.zero, now.since(max(set.queriedAt, known)))
    }

    /// Evaluates the queries of a set whose interval is over; true if it has got its list again.
    private func query(_ set: PrefetchSet, _ context: EngineContext) async -> Bool {
        let now = context.clock.now()
        guard let interval = set.refresh, timeToQuery(set, every: interval, at: now) <= .zero else {
            return false
        }
        let last = state.withLock { state in
            let last = state.queries[set.number]?.last ?? PrefetchList.LastQuery()
            state.queries[set.number] = (last, now)
            return last
        }
        let list = PrefetchList(context: context, scope: context.store.key(for: set.scope))
        do throws(Problem) {
            let json = try await storing(await context.store.prefetches.definition(of: set))
            let decoded = json.flatMap {
                try? APIDecoder(.lenient).decode(PrefetchCommand.self, from: $0)
            }
            guard let command = decoded, command.items.contains(where: { $0.entities != nil })
            else { return false }
            let order = try await list.order(command, again: last)
            let before = try await storing(await context.store.prefetches.ids(set))
            try await storing(await context.store.prefetches.queried(set, order.items, now: now))
            let after = Set(order.items.map(\.id))
            let query = PrefetchList.LastQuery(
                latestUse: order.latestUse,
                left: Set(before).subtracting(after)
            )
            state.withLock { state in
                state.queries[set.number] = (query, now)
                state.hasReleased = true
            }
            return true
        } catch {
            let fields: Logger.Metadata = .larder([.reason: "\(error.detail)"])
            context.logger.warning("the entities of a set were not looked up", metadata: fields)
            return false
        }
    }

    /// Has the entries of a set polled at its interval, unless they are polled more often.
    private func poll(_ set: PrefetchSet, _ context: EngineContext) async throws(StoreError) {
        guard let interval = set.refresh else { return }
        let scope = context.store.key(for: set.scope)
        for id in try await context.store.prefetches.ids(set) {
            guard let attempt = PinAttempt(context, scope, id) else { continue }
            let least = max(interval, attempt.origin.fetch.minRefresh)
            let known = context.refreshes.pinInterval(of: id, scope)
            guard known.map({ $0 > least }) ?? true else { continue }
            guard try await repoll(TargetName(scope, id), context) else { return }
        }
    }

    /// Gives the poller of a row the interval that its pin has now; false if the user has too many.
    @discardableResult
    private func repoll(
        _ name: TargetName,
        _ context: EngineContext
    ) async throws(StoreError) -> Bool {
        let (scope, id, refreshes) = (name.scope, name.id, context.refreshes)
        let pin = try await context.store.pins.pin(scope, id)
        guard let interval = pin?.refresh, let attempt = PinAttempt(context, scope, id) else {
            refreshes.unpinned(id, scope, context)
            return true
        }
        let least = max(interval, attempt.origin.fetch.minRefresh)
        let answered = pin?.entry?.storedAt
        return
            refreshes
            .setPin(id, scope, at: attempt.name, every: least, since: answered, context)
    }
}
