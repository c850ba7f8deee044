package import LarderAPI
package import LarderModel
package import LarderStore
import LarderStrategy
import LarderUpstream
import LarderWire
import Synchronization

/// Sets of entries that are fetched in advance and pinned together.
///
/// A set is a list of ids in `state.db`. ``PrefetchRunner`` pins what is in a list and has no pin, and
/// unpins what is in no list any more; ``PinFetchRunner`` fetches what the pins wait for.
package struct Prefetches: EnginePart {
    let context: EngineContext

    /// Makes a set or gives it a new list, unless there is no room for it.
    ///
    /// Without `isPlan` it waits up to `wait` until the set is no longer filling.
    package func put(
        _ name: PrefetchName,
        _ command: PrefetchCommand,
        _ scope: ScopeKey,
        isPlan: Bool = false,
        wait: Duration? = nil,
        cancellation: ClientCancellation = ClientCancellation()
    ) async throws(Problem) -> PrefetchReport {
        let order = try await PrefetchList(context: context, scope: scope).order(command)
        let sets = try await storing(await store.prefetches.sets(.one(scope)))
        let old = sets.first { $0.name == name }
        guard old != nil || sets.count < Limits.prefetchSetsPerUserMax else {
            throw Problem(.tooManySets)
        }
        let ids = order.items.map(\.id)
        let polled = try await polledIDs(of: old.map { [$0] } ?? [])
        if order.refresh != nil {
            try context.refreshes.checkRoom(for: ids, scope, inPlaceOf: polled.map(\.id))
        }
        let sizes = try await sizes(of: ids, scope, cancellation)
        try await check(sizes, scope, besides: old)
        guard !isPlan else {
            var report = PrefetchReport(name: name.text, state: .planned, items: order.items.count)
            (report.held, report.bytes) = (sizes.held, sizes.heldBytes)
            (report.estimatedBytes, report.unknownSizes) = (sizes.bytes, sizes.unknown)
            report.refresh = order.refresh
            return report
        }
        let now = clock.now()
        let new = NewPrefetchSet(
            name,
            definition: order.definition,
            expiresAt: order.expires.map { now.advanced(by: $0) },
            refresh: order.refresh,
            estimatedBytes: sizes.bytes,
            unknownSizes: sizes.unknown
        )
        try await storing(await store.prefetches.put(new, order.items, scope, now: now))
        context.keeper.tryAgain(ids, scope, context)
        context.prefetches.look(context, reapplying: polled)
        guard let wait else { return try await report(name, scope) }
        let end = try await context.wait(
            upTo: wait,
            cancellation,
            on: context.prefetches.listeners
        ) { () async throws(Problem) -> PrefetchReport? in
            let report = try await report(name, scope)
            return report.state == .filling ? nil : report
        }
        switch end {
        case .came(let report): return report
        case .ended: return try await report(name, scope)
        }
    }

    /// Looks up the sizes, of one set of a user at a time.
    private func sizes(
        of ids: [EntryID],
        _ scope: ScopeKey,
        _ cancellation: ClientCancellation
    ) async throws(Problem) -> PrefetchSizes {
        let uid = scope.scope.uid
        guard context.prefetches.sizings.withLock({ $0.take(uid) }) else {
            throw Problem(
                .overloaded,
                "the sizes of another set of this user are being looked up",
                hint: "Try again in a minute."
            )
        }
        defer { context.prefetches.sizings.withLock { $0.release(uid) } }
        let sizing = PrefetchSizing(context: context, scope: scope, cancellation: cancellation)
        return try await sizing.sizes(of: ids)
    }

    /// Refuses what is larger than the room that is free for pins of the user, when the other sets
    /// are filled.
    private func check(
        _ sizes: PrefetchSizes,
        _ scope: ScopeKey,
        besides old: PrefetchSet?
    ) async throws(Problem) {
        var room = store.pins.room(for: scope.scope.uid)
        let others = scope.scope.uid.map { RowScopes.user($0) } ?? .one(scope)
        for set in try await storing(await store.prefetches.sets(others))
        where set.number != old?.number {
            let counts = try await storing(await store.prefetches.counts(set))
            guard counts.waitingCount > 0 else { continue }
            room.bytes = max(0, room.bytes - max(0, set.estimatedBytes - counts.bytes))
        }
        guard sizes.new <= room.count else {
            throw Problem(StoreError.tooManyPins(limit: Limits.pinsPerUserMax))
        }
        guard sizes.needed > room.bytes else { return }
        var problem = Problem(
            .pinsFull,
            "the set needs \(sizes.needed) bytes, and \(room.bytes) are free for pins",
            hint: "Take a smaller set, unpin something, or raise pins.max_bytes."
        )
        (problem.neededBytes, problem.freeBytes) = (sizes.needed, room.bytes)
        throw problem
    }

    package func list(_ scope: ScopeKey) async throws(Problem) -> [PrefetchReport] {
        var reports: [PrefetchReport] = []
        for set in try await storing(await store.prefetches.sets(.one(scope))) {
            reports.append(try await report(set))
        }
        return reports
    }

    package func report(
        _ name: PrefetchName,
        _ scope: ScopeKey
    ) async throws(Problem) -> PrefetchReport {
        guard let set = try await set(name, scope) else { throw .noSuchSet(name) }
        var report = try await report(set)
        guard report.state != .ready else {
            report.failed = []
            return report
        }
        // While it is filling, most of what is missing only has to wait for its turn.
        let isFilling = report.state == .filling
        let missing = try await storing(
            await store.prefetches.missing(set, isTroubled: isFilling)
        )
        report.failed = missing.compactMap { item in
            problem(of: item, scope).map { PrefetchFailure(id: item.id.description, $0) }
        }
        return report
    }

    /// The reason why an item is not fetched now; nil if it only waits for its turn.
    private func problem(of item: MissingItem, _ scope: ScopeKey) -> Problem? {
        if let trouble = item.trouble {
            var problem = Problem(trouble)
            problem.retryable = !item.isPinned
            return problem
        }
        if var met = context.keeper.trouble(of: TargetName(scope, item.id)) {
            met.retryable = true
            return met
        }
        guard let name = item.origin else { return nil }
        let pause = context.originStates.refreshPause(of: name, for: scope.scope)
        return pause.map { Problem($0, of: CredentialName(scope.scope, at: name)) }
    }

    private func report(_ set: PrefetchSet) async throws(Problem) -> PrefetchReport {
        let counts = try await storing(await store.prefetches.counts(set))
        let state = try await storing(await context.prefetches.stateNow(of: set, counts, context))
        var report = PrefetchReport(name: set.name.text, state: state, items: counts.items)
        (report.held, report.bytes) = (counts.held, counts.bytes)
        (report.estimatedBytes, report.unknownSizes) = (set.estimatedBytes, set.unknownSizes)
        report.refresh = set.refresh
        report.expiresAt = set.expiresAt.map { .init($0) }
        return report
    }

    package func remove(_ name: PrefetchName, _ scope: ScopeKey) async throws(Problem) {
        guard let set = try await set(name, scope) else { throw .noSuchSet(name) }
        let polled = try await polledIDs(of: [set])
        let removed = try await storing(
            await store.prefetches.remove(.one(scope)) { $0.name == name }
        )
        guard !removed.isEmpty else { throw .noSuchSet(name) }
        // The client's next list of pins has them no more.
        while try await !storing(await store.prefetches.release()).isEmpty {}
        context.prefetches.roomCame(to: scope.scope.uid, context)
        context.prefetches.look(context, reapplying: polled)
        context.prefetches.removed(removed, .removed, context)
    }

    private func set(
        _ name: PrefetchName,
        _ scope: ScopeKey
    ) async throws(Problem) -> PrefetchSet? {
        try await storing(await store.prefetches.sets(.one(scope))).first { $0.name == name }
    }

    private func polledIDs(of sets: [PrefetchSet]) async throws(Problem) -> [TargetName] {
        var names: [TargetName] = []
        for set in sets where set.refresh != nil {
            let scope = store.key(for: set.scope)
            let ids = try await storing(await store.prefetches.ids(set))
            names += ids.map { TargetName(scope, $0) }
        }
        return names
    }
}

extension PrefetchRunner {
    /// The state of a set: it is filling while an entry is being fetched, or is about to be.
    func stateNow(
        of set: PrefetchSet,
        _ counts: PrefetchCounts,
        _ context: EngineContext
    ) async throws(StoreError) -> PrefetchState {
        guard counts.held < counts.items else { return .ready }
        let open = counts.waiting.filter { waiting in
            waiting.key.map { !$0.isPaused(for: set.scope, context) } ?? true
        }
        guard !open.isEmpty else { return .incomplete }
        let scope = context.store.key(for: set.scope)
        guard context.keeper.hasTrouble(in: scope) else { return .filling }
        let missing = try await context.store.prefetches.missing(set)
        let isFetching = missing.contains { item in
            item.trouble == nil && item.origin.map { !$0.isPaused(for: set.scope, context) } ?? true
                && context.keeper.trouble(of: TargetName(scope, item.id)) == nil
        }
        return isFetching ? .filling : .incomplete
    }
}

extension OriginName {
    /// Whether nothing is asked of the origin for an account now.
    func isPaused(for scope: Scope, _ context: EngineContext) -> Bool {
        context.originStates.refreshPause(of: self, for: scope) != nil
    }
}

extension Problem {
    fileprivate static func noSuchSet(_ name: PrefetchName) -> Problem {
        Problem(.noSuchSet, "there is no set '\(name)'")
    }

    /// The problem of an entry that is not asked for while its origin is paused.
    fileprivate init(_ pause: OriginStates.RefreshPause, of account: CredentialName) {
        let name = account.origin
        switch pause {
        case .setOffline: self.init(offline: name)
        case .offline: self.init(.unreachable, "the origin '\(name)' cannot be reached")
        case .captive:
            self.init(.captive, "a captive portal answers in place of the origin '\(name)'")
        case .retryAfter:
            self.init(.overloaded, "the origin '\(name)' has asked to wait with Retry-After")
        case .credential:
            self.init(
                .originStatus,
                "the origin '\(name)' refuses the credential of the account",
                hint: "Give one that it takes: \(account.loginCommand)"
            )
        }
    }
}

/// The sizes of the entries of a set, before any of them is fetched.
struct PrefetchSizes: Sendable {
    /// Length of the bodies, as far as it is known or estimated.
    var bytes: Int64 = 0
    /// Number of entries whose length no origin told.
    var unknown = 0
    /// Number of entries that are pinned with their bytes, and need nothing more.
    var held = 0
    var heldBytes: Int64 = 0
    /// Entries that have no pin yet, and what all that are not held count against `pins.max_bytes`.
    var new = 0
    var needed: Int64 = 0

    fileprivate mutating func add(_ size: Int64, of id: EntryID) {
        bytes += size
        needed += size + Int64(Limits.rowOverheadBytes + id.text.utf8.count)
    }

    fileprivate mutating func addUnknown(_ estimate: Int64, of id: EntryID) {
        unknown += 1
        add(estimate, of: id)
    }
}

/// Looks up sizes: in the cache, else by HEAD (RFC 9110 9.3.2), whose answer is not kept.
///
/// An entry that there was no time for counts with the mean of the known sizes. So a set that is
/// far too large is refused although its origin is slow.
struct PrefetchSizing {
    let context: EngineContext
    let scope: ScopeKey
    let cancellation: ClientCancellation

    func sizes(of ids: [EntryID]) async throws(Problem) -> PrefetchSizes {
        var sizes = PrefetchSizes()
        var unknown: [EntryID] = []
        for page in ids.chunks(of: Limits.pageRowsMax) {
            for (id, size) in zip(page, try await cachedSizes(Array(page))) {
                let isPinned = context.store.pins.isPinned(scope, id)
                if !isPinned { sizes.new += 1 }
                if let size, isPinned {
                    sizes.held += 1
                    sizes.heldBytes += size
                    sizes.bytes += size
                } else if let size {
                    sizes.add(size, of: id)
                } else {
                    unknown.append(id)
                }
            }
        }
        var unasked: [EntryID] = []
        for (id, size) in await askedSizes(of: unknown) {
            switch size {
            case .told(let size): sizes.add(size, of: id)
            case .untold: sizes.addUnknown(0, of: id)
            case .unasked: unasked.append(id)
            }
        }
        let known = Int64(ids.count - sizes.unknown - unasked.count)
        let mean = known > 0 ? sizes.bytes / known : 0
        for id in unasked { sizes.addUnknown(mean, of: id) }
        return sizes
    }

    private func cachedSizes(_ ids: [EntryID]) async throws(Problem) -> [Int64?] {
        let now = context.clock.now()
        return try await context.read { [context, scope] reader throws(StoreError) in
            defer { reader.endTransaction() }
            return try ids.map { id throws(StoreError) -> Int64? in
                for place in context.lookupScopes(scope, id).scopes {
                    guard !reader.isHidden(id, in: place, from: scope),
                        let entry = try reader.entry(place, id, now: now), entry.kind != .tombstone
                    else { continue }
                    return Int64(entry.body.byteCount)
                }
                return nil
            }
        }
    }

    /// Asks four at a time; an origin that cannot be reached is not asked again.
    private func askedSizes(of ids: [EntryID]) async -> [(id: EntryID, size: AskedSize)] {
        let end = context.clock.monotonic() + Limits.prefetchSizingTime
        var rest = ids[...]
        var unreachable: Set<OriginName> = []
        var sizes: [(id: EntryID, size: AskedSize)] = []
        return await withTaskGroup(of: (id: EntryID, name: OriginName, size: AskedSize?).self) {
            group in
            var running = 0
            while true {
                while running < Limits.prefetchHeadsMax, let id = rest.popFirst() {
                    guard context.clock.monotonic() < end, !context.isDraining,
                        !cancellation.isGivenUp
                    else {
                        sizes.append((id, .unasked))
                        continue
                    }
                    guard let attempt = PinAttempt(context, scope, id),
                        !unreachable.contains(attempt.name),
                        !attempt.name.isPaused(for: scope.scope, context)
                    else {
                        sizes.append((id, .untold))
                        continue
                    }
                    running += 1
                    group.addTask { [self] in
                        (id, attempt.name, await size(of: id, attempt.origin))
                    }
                }
                guard let asked = await group.next() else { return sizes }
                running -= 1
                if asked.size == nil { unreachable.insert(asked.name) }
                sizes.append((asked.id, asked.size ?? .untold))
            }
        }
    }

    /// The length that an origin tells; nil if it cannot be reached.
    private func size(of id: EntryID, _ origin: OriginSettings) async -> AskedSize? {
        guard let url = try? WebURL(id.text) else { return .untold }
        let request = UpstreamRequest(
            origin: origin,
            method: "HEAD",
            url: url,
            timeout: min(origin.fetch.timeout, Limits.prefetchHeadTime)
        )
        do throws(UpstreamError) {
            let reply = try await context.originStates.ask(request, for: scope.scope)
            let head = reply.head(now: context.clock.now())
            context.originStates.noteRest(of: origin, url, for: scope.scope, head)
            while try await reply.body.next() != nil {}
            let coding = reply.headers["Content-Encoding"] ?? "identity"
            guard reply.status == 200, coding == "identity",
                let length = reply.headers["Content-Length"].flatMap({ Int64($0) }), length >= 0
            else { return .untold }
            return .told(min(length, Limits.prefetchSizeBytesMax))
        } catch {
            return error.isConnectFailure ? nil : .untold
        }
    }
}

/// The length of a body, as an origin tells it.
private enum AskedSize: Sendable, Equatable {
    case told(Int64)
    /// The answer has no length, or the origin cannot be asked.
    case untold
    /// The time was over.
    case unasked
}
