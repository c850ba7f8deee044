import LarderModel
import LarderStore
import LarderStrategy
import LarderUpstream
import LarderWire

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
}

/// Looks up sizes: in the cache, else by HEAD (RFC 9110 9.3.2), whose answer is not kept.
///
/// An entry that there was no time for counts with the mean of the known sizes. So a set that is far
/// too large is refused although its origin is slow.
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
            let reply = try await context.ask(request, for: scope.scope)
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

extension PrefetchSizes {
    fileprivate mutating func add(_ size: Int64, of id: EntryID) {
        bytes += size
        needed += size + Int64(Limits.rowOverheadBytes + id.text.utf8.count)
    }

    fileprivate mutating func addUnknown(_ estimate: Int64, of id: EntryID) {
        unknown += 1
        add(estimate, of: id)
    }
}
