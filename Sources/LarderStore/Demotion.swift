import LarderModel
import LarderNormalize

/// Work that remains before a released row may leave `state.db`.
enum Release: Sendable {
    /// The cache has the row as it is; nil if the row has nothing to store.
    ///
    /// The row leaves once that is synced, unless it has changed by then.
    case ready(TargetName, as: Entry?)
    /// The cache cannot take it: it is lost, as any entry there may be at any time.
    case lost(TargetName, EvictionReason)
    /// The row's body is in `state.db` alone, and has to be copied first.
    case large(LargeBody)
}

/// Gives durable rows back to `cache.db` once nothing keeps them.
struct Demotion: WriterPart {
    let writer: StoreWriter

    func free(_ names: [TargetName]) throws(StoreError) -> [TargetName] {
        var free: [TargetName] = []
        for name in names {
            if let row = try durable(name), try !state.reader.isKept(row.number) {
                free.append(name)
            }
        }
        return free
    }

    func prepare(_ names: [TargetName], now: Timestamp) throws(StoreError) -> [Release] {
        var releases: [Release] = []
        for name in names {
            guard let saved = try state.rows.entry(name),
                try !state.reader.isKept(saved.claim.number)
            else { continue }
            let release = try prepare(saved, now)
            if case .ready(_, as: .some) = release { try hiding.giveMarks(of: saved.claim) }
            releases.append(release)
        }
        return releases
    }

    private func prepare(_ saved: SavedEntry, _ now: Timestamp) throws(StoreError) -> Release {
        let name = saved.claim.name
        let (scope, id) = (name.scope, name.id)
        try hiding.hideShared(saved.claim)
        guard let entry = saved.entry else {
            // A shared row of which nothing is saved is the cache's, for all users.
            if saved.claim.hasEntry || scope != shared.sharedScope {
                try cache.rows.removeQuietly(scope, id)
            }
            return saved.claim.hasEntry ? .lost(name, .damaged) : .ready(name, as: nil)
        }
        let ready = Release.ready(name, as: entry)
        guard !entry.isExpired(at: now) else { return .lost(name, .expired) }
        // The row is no garbage any more: readers use it once the id has left `state.db`.
        shared.residency.removeGarbage([RowKey(scope, id)])
        do throws(StoreError) {
            if let entity = id.entity {
                try cache.attempt(saved.inline.count) { () throws(StoreError) in
                    try cache.answers.show(entity, entry, saved.inline, in: scope)
                }
                return ready
            }
            if let row = saved.normalized, let origin = entry.origin,
                let skeleton = try state.reader.references.skeleton(row.skeleton),
                let template = try? Template(row.template, skeleton)
            {
                try cache.attempt(row.template.count) { () throws(StoreError) in
                    let form = AnswerForm(template, skeleton, of: origin)
                    try cache.answers.put(entry, row.template, form, in: scope, now: now)
                }
                return ready
            }
            let size = entry.rowSize(in: scope, isChunked: saved.chunked != nil)
            try cache.room.checkSize(size, bodyBytes: entry.body.byteCount)
            if let chunked = saved.chunked,
                let large = bodies.large(chunked, name, entry, to: .cache, as: .answer)
            {
                return .large(large)
            }
            try cache.attempt(entry.body.byteCount) { () throws(StoreError) in
                var new = NewEntry(scope: scope, entry: entry, body: .inline(saved.inline))
                if let chunked = saved.chunked {
                    let body = Target.Body.chunked(chunked)
                    new.body = try bodies.linkable(body, name, in: .cache, as: .answer)
                }
                _ = try cache.rows.put(new, given: entry.revision, now: now)
            }
            return ready
        } catch .tooLarge, .noRoom, .keyTaken, .badChunk {
            return .lost(name, .lru)
        }
    }

    /// Removes released rows from `state.db`; all rows that are lost by it are one step.
    func remove(_ releases: [Release]) throws(StoreError) {
        var step: Revision?
        for release in releases {
            let (name, reason): (TargetName, EvictionReason?)
            switch release {
            case .ready(let ready, _): (name, reason) = (ready, nil)
            case .lost(let lost, let why): (name, reason) = (lost, why)
            case .large: continue
            }
            guard let found = try durable(name), try !state.reader.isKept(found.number) else {
                continue
            }
            if case .ready(_, let version?) = release {
                // An eviction or removal has taken the copy out of `cache.db` since it was written.
                let isTaken = shared.residency.isGarbage(RowKey(name.scope, name.id))
                let isSame = found.matches(version) && found.revision == version.revision
                guard isSame, !isTaken else { continue }
            } else if case .ready = release, found.hasEntry {
                continue
            }
            try entries.removeDurable(found)
            guard let reason else { continue }
            try cacheIfAny?.rows.removeQuietly(name.scope, name.id)
            let revision = if let step { step } else { try revisions.next() }
            step = revision
            let event = Change.Event.evict(name.id, reason, client: nil)
            try state.views.log(Change(revision, name.scope.scope, event))
        }
    }
}
