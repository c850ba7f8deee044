package import LarderModel
import LarderNormalize

struct WriteTarget {
    let name: TargetName
    var isShared: Bool

    func base(in shared: SharedCacheState) -> TargetName {
        isShared ? shared.sharedName(name.id) : name
    }
}

struct FoundBases {
    var rows: [TargetName: DurableRow] = [:]
    var entries: [TargetName: NewEntry] = [:]
    var large: [LargeBody] = []
}

struct Promotion: WriterPart {
    let writer: StoreWriter

    func bases(of aims: [WriteTarget], now: Timestamp) throws(StoreError) -> FoundBases {
        var found = FoundBases()
        var rows: [TargetName: CachedRows.CachedCopy] = [:]
        defer {
            // A row that has to be copied first stays leased; the copier gives the lease back.
            for (name, row) in rows where !found.large.contains(where: { $0.name == name }) {
                row.release(to: shared)
            }
        }
        for aim in aims {
            let name = aim.base(in: shared)
            if aim.isShared { found.rows[aim.name] = try durable(aim.name) }
            let claim = try durable(name)
            found.rows[name] = claim
            // A targeted row without an entry means that nothing is known. A shared row without an
            // entry may have had pins only.
            let isLeftToCache = claim.map { claim in
                claim.isLeftToCache || aim.isShared && !claim.hasEntry && !claim.isTargeted
            }
            guard isLeftToCache != false, rows[name] == nil, !writer.isCacheLeftOut else {
                continue
            }
            rows[name] = try cache.rows.base(name.scope, name.id, now: now)
            // An answer that lacks an entity would be read in place of the unknown base once the
            // entity is back.
            if rows[name] == nil { try cache.rows.removeQuietly(name.scope, name.id) }
        }
        // Nothing is written until everything can be. Otherwise a command that then waits for
        // copies would leave bodies that no row links.
        found.large = rows.compactMap { bodies.large($1, $0, as: .base) }
        guard found.large.isEmpty else { return found }
        for (name, row) in rows { found.entries[name] = try base(row, name) }
        return found
    }

    /// A row as the base of a target; nil where its bytes are damaged: then nothing is known.
    func base(
        _ row: CachedRows.CachedCopy,
        _ name: TargetName,
        as purpose: BodyPurpose = .base
    ) throws(StoreError) -> NewEntry? {
        var new = NewEntry(scope: name.scope, entry: row.entry, body: .inline([]))
        if let form = row.form, case .inline(let template) = row.body {
            (new.body, new.form) = (.inline(template), form)
            return new
        }
        do throws(StoreError) {
            new.body = try bodies.linkable(row.body, name, in: .state, as: purpose)
            return new
        } catch .badChunk {
            return nil
        }
    }

    /// The present base of a target.
    ///
    /// The base of an answer has its entities as they are now, if the cache has the answer
    /// normalized.
    func base(of name: TargetName, now: Timestamp) throws(StoreError) -> TargetBase {
        let (viewer, name) = (name, try sharing.place(of: name))
        if name != viewer, try hiding.isHidden(name.id, from: viewer.scope) { return .unknown }
        let saved = try state.rows.entry(name)
        guard let saved, saved.entry != nil else {
            guard saved?.claim.isTargeted != true else { return .unknown }
            return try cachedBase(name, now)
        }
        return try base(saved)
    }

    /// The present base that is in a durable row.
    func base(_ saved: SavedEntry) throws(StoreError) -> TargetBase {
        guard let entry = saved.entry else { return .unknown }
        if let status = saved.claim.goneStatus { return .deleted(entry.tombstone(status)) }
        if let row = saved.normalized {
            guard case .shown(let shown) = try state.reader.rebuild(row) else { return .unknown }
            return TargetBase(shown.entry, shown.answer.bytes)
        }
        guard let chunked = saved.chunked else { return TargetBase(entry, saved.inline) }
        return TargetBase(entry, entry.body.isJSON ? try bodies.bytes(of: chunked) : nil)
    }

    private func cachedBase(_ name: TargetName, _ now: Timestamp) throws(StoreError) -> TargetBase {
        guard let row = try cacheIfAny?.rows.base(name.scope, name.id, now: now) else {
            return .unknown
        }
        if let shown = row.shown { return TargetBase(shown.entry, shown.answer.bytes) }
        switch row.body {
        case .inline(let bytes): return TargetBase(row.entry, bytes)
        case .chunked(let body):
            defer { shared.leases.release(body.number) }
            return TargetBase(row.entry, row.entry.body.isJSON ? try bodies.bytes(of: body) : nil)
        }
    }

    func addGarbage(_ names: [TargetName]) {
        let keys = names.map { RowKey($0.scope, $0.id) }
        afterCommit { [index = shared.residency] in index.addGarbage(keys) }
    }

    func removeGarbage(_ keys: [RowKey]) throws(StoreError) {
        for key in keys where shared.residency.covers(key) {
            guard let cache = try cacheIfAny else { return }
            try cache.eviction.remove(key)
        }
        afterCacheCommit { [index = shared.residency] in index.removeGarbage(keys) }
    }

    /// Fills rows that a command has made as targets of references with what the cache has of them.
    ///
    /// If the cache has nothing, nothing is known of them.
    func fill(now: Timestamp) throws(StoreError) {
        guard writer.isStateOpen else { return }
        while let name = try state.memory.unfilled.popLast() {
            claim(name)
            addGarbage([name])
            guard let row = try state.rows.find(name), !row.hasEntry,
                let taken = try cacheIfAny?.rows.takeable(name.scope, name.id, now: now)
            else { continue }
            defer { taken.release(to: shared) }
            guard let new = try base(taken, name) else { continue }
            try state.rows.write(new, to: row)
            try hiding.takeMarks(of: name)
        }
    }

    /// Normalizes answers that earlier versions saved whole, as far as the cache has their
    /// entities, and finds references that a salvage has lost.
    ///
    /// It also keeps variants with their durable URL. It runs before the first read.
    func takeAlong(now: Timestamp) throws(StoreError) {
        for row in try state.reader.allRows() where !row.keepsShared {
            let name = row.name
            if row.isPinned || row.isTargeted { try holdVariants(of: name) }
            guard row.kind == .fetched || name.id.isEntity,
                let saved = try state.rows.entry(name), let entry = saved.entry
            else { continue }
            guard saved.normalized == nil, !name.id.isEntity else {
                try findReferences(of: saved, entry)
                continue
            }
            guard let taken = try cacheIfAny?.rows.takeable(name.scope, name.id, now: now) else {
                continue
            }
            defer { taken.release(to: shared) }
            guard taken.form != nil, taken.entry.body == entry.body,
                var new = try base(taken, name)
            else { continue }
            new.entry = entry
            new.entry.revision = max(entry.revision, taken.entry.revision)
            try state.rows.write(new, to: saved.claim)
        }
        let made = try state.memory.unfilled
        try fill(now: now)
        for name in made where name.id.isEntity {
            guard let row = try state.rows.find(name), !row.hasEntry else { continue }
            try state.rows.wantAnswers(showing: row)
        }
        guard !writer.isCacheLeftOut else { return }
        try state.connection.execute("UPDATE revision_block SET takes_along = 0")
    }

    private func findReferences(of saved: SavedEntry, _ entry: Entry) throws(StoreError) {
        let scope = saved.claim.name.scope
        var new = NewEntry(scope: scope, entry: entry, body: .inline(saved.inline))
        if let row = saved.normalized {
            new.form = try state.reader.references.form(of: row)
            guard new.form != nil else { return }
        }
        try state.rows.setReferences(of: saved.claim, new)
    }

    func holdVariants(of name: TargetName) throws(StoreError) {
        guard let prefix = name.id.variantPrefix, let cache = try cacheIfAny else { return }
        let variants = try cache.rows.variants(VariantPage(prefix: prefix), in: name.scope)
        guard !variants.isEmpty else { return }
        let row = try state.rows.find(name)
        for variant in variants {
            try state.rows.makeRow(TargetName(name.scope, variant.id), with: row, isHeld: true)
        }
    }

    func takeVariants(of name: TargetName, now: Timestamp) throws(StoreError) {
        try holdVariants(of: name)
        try fill(now: now)
    }

    /// The durable row of a new entry; nil if the entry belongs in the cache.
    ///
    /// A new variant of a durable URL gets a row here.
    func durableRow(for new: NewEntry, now: Timestamp) throws(StoreError) -> DurableRow? {
        if let found = try durable(new.name) { return found }
        guard !shared.residency.isEmpty, let url = new.entry.id.urlOfVariant,
            let place = shared.residency.place(new.scope, url), !place.isReleased
        else { return nil }
        let parent = try state.rows.find(TargetName(new.scope, url))
        try state.rows.makeRow(new.name, with: parent, isHeld: true)
        try fill(now: now)
        return try durable(new.name)
    }
}

extension CommitQueue {
    /// Takes along at a start; whether the references of all durable rows are known then.
    ///
    /// If `cache.db` fails, references are found without it. The next start does the rest; a saved
    /// answer is shown as it was until then.
    func takeAlong(now: Timestamp) -> Bool {
        do throws(StoreError) {
            do throws(StoreError) {
                try submitBlocking { writer throws(StoreError) in
                    try writer.promotion.takeAlong(now: now)
                }
            } catch {
                try submitBlocking { writer throws(StoreError) in
                    try writer.leavingOutCache { () throws(StoreError) in
                        try writer.promotion.takeAlong(now: now)
                    }
                }
            }
            return true
        } catch {
            return false
        }
    }
}

extension Entry {
    package init(tombstone id: EntryID, status: Int, _ origin: OriginName?, at now: Timestamp) {
        let body = BodySummary(of: [], isJSON: false)
        self.init(id: id, kind: .tombstone, status: status, storedAt: now, body: body)
        self.origin = origin
    }

    func tombstone(_ status: Int) -> Entry {
        var entry = Entry(tombstone: id, status: status, origin, at: storedAt)
        entry.revision = revision
        return entry
    }
}

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

    var name: TargetName {
        switch self {
        case .ready(let name, _), .lost(let name, _): name
        case .large(let body): body.name
        }
    }
}

/// Gives durable rows back to `cache.db` once nothing keeps them.
struct Demotion: WriterPart {
    let writer: StoreWriter

    func prepare(_ names: [TargetName], now: Timestamp) throws(StoreError) -> [Release] {
        var releases: [Release] = []
        for name in names {
            guard let row = try durable(name), try !state.reader.isKept(row),
                let saved = try state.rows.entry(name)
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
            if let row = saved.normalized, let form = try state.reader.references.form(of: row) {
                try cache.attempt(row.template.count) { () throws(StoreError) in
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
            guard let found = try durable(name), try !state.reader.isKept(found) else {
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
            let revision = if let step { step } else { try revisions.next() }
            step = revision
            let event = Change.Event.evict(name.id, reason, client: nil)
            try entries.tellRemoval(of: found, event, revision)
        }
    }
}
