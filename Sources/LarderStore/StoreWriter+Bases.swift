import LarderModel
import LarderNormalize

/// What stands under an id, and how it becomes the base of a target.
extension StoreWriter {
    /// One target: whose, which, and whether its user sees the shared row.
    struct Aim {
        let name: TargetName
        var isShared: Bool

        /// Where the row of its base stands.
        func base(in index: ClaimIndex) -> TargetName {
            isShared ? TargetName(index.sharedScope, name.id) : name
        }
    }

    /// What the cache has of targets, ready to be put into `state.db`.
    struct FoundBases {
        /// The rows of those that are claimed already.
        var claims: [TargetName: StateWriter.FoundClaim] = [:]
        var entries: [TargetName: NewEntry] = [:]
        var large: [LargeBody] = []
    }

    /// Finds what targets are that nothing is saved of.
    func bases(
        of aims: [Aim],
        _ copied: CopiedBodies,
        now: Timestamp
    ) throws(StoreError) -> FoundBases {
        var found = FoundBases()
        var rows: [TargetName: CacheWriter.Takeable] = [:]
        defer {
            // Of those that are copied first, whoever copies them gives the lease back.
            for (name, row) in rows where !found.large.contains(where: { $0.name == name }) {
                row.giveBack(to: shared)
            }
        }
        for aim in aims {
            let name = aim.base(in: shared.claims)
            if aim.isShared {
                found.claims[aim.name] = try claimed(aim.name.scope, aim.name.id)
            }
            let claim = try claimed(name.scope, name.id)
            found.claims[name] = claim
            // Its row has an entry, or has none as nothing is known.
            guard claim?.isLeftToCache != false, rows[name] == nil else { continue }
            guard !isCacheLeftOut else { continue }
            rows[name] = try cache.base(name.scope, name.id, now: now)
        }
        // Nothing is written before all can be: what a command writes that then waits for copies would
        // be nobody's.
        found.large = rows.compactMap { name, row in
            guard case .chunked(let body) = row.body else { return nil }
            let isLeased = body.file == .cache
            return large(body, name, row.entry, to: .state, as: .base, isLeased: isLeased, copied)
        }
        guard found.large.isEmpty else { return found }
        for (name, row) in rows { found.entries[name] = try base(row, name, copied) }
        return found
    }

    /// A row as the base of a target; nil where its bytes are damaged: then nothing is known.
    func base(
        _ row: CacheWriter.Takeable,
        _ name: TargetName,
        _ copied: CopiedBodies
    ) throws(StoreError) -> NewEntry? {
        var new = NewEntry(scope: name.scope, entry: row.entry, body: .inline([]))
        do throws(StoreError) {
            if let form = row.form, case .inline = row.body {
                (new.body, new.form) = (row.body.new, form)
                return new
            }
            switch row.body {
            case .inline(let bytes): new.body = try linkable(bytes, name, in: .state, as: .base)
            case .chunked(let body):
                new.body = try linkable(body, name, in: .state, as: .base, copied)
            }
        } catch .badChunk {
            return nil
        }
        return new
    }

    /// What a target is now; of an answer its entities as they are, where the cache has it normalized.
    func base(of name: TargetName, now: Timestamp) throws(StoreError) -> TargetBase {
        let (viewer, name) = (name, try place(of: name))
        if name != viewer, try isHidden(name.id, from: viewer.scope) { return .unknown }
        let saved = try state.entry(name.scope, name.id)
        guard let saved, let entry = saved.entry else {
            guard saved?.claim.isTargeted != true else { return .unknown }
            return try cachedBase(name, now)
        }
        if let status = saved.claim.goneStatus { return .deleted(entry.tombstone(status)) }
        if let row = saved.normalized {
            guard case .shown(let shown) = try state.reader.rebuild(row) else { return .unknown }
            return TargetBase(shown.entry, shown.answer.bytes)
        }
        guard let chunked = saved.chunked else { return TargetBase(entry, saved.inline) }
        return TargetBase(entry, entry.body.isJSON ? try bytes(of: chunked) : nil)
    }

    private func cachedBase(_ name: TargetName, _ now: Timestamp) throws(StoreError) -> TargetBase {
        guard let row = try cacheIfAny?.base(name.scope, name.id, now: now) else { return .unknown }
        if row.form != nil, let found = try cache.find(name.scope, name.id).row,
            let normalized = try cache.normalizedRow(found, name.scope)
        {
            guard case .shown(let shown) = try cache.rebuild(normalized) else { return .unknown }
            return TargetBase(shown.entry, shown.answer.bytes)
        }
        switch row.body {
        case .inline(let bytes): return TargetBase(row.entry, bytes)
        case .chunked(let body):
            defer { shared.leases.giveBack(body.number) }
            return TargetBase(row.entry, row.entry.body.isJSON ? try bytes(of: body) : nil)
        }
    }
}

extension Entry {
    /// What is left of an id when its origin has deleted it.
    init(deleted id: EntryID, _ status: Int, of origin: OriginName?, at moment: Timestamp) {
        self.init(
            id: id,
            kind: .tombstone,
            status: status,
            storedAt: moment,
            revision: Revision(0),
            body: BodySummary(of: [], isJSON: false)
        )
        self.origin = origin
    }

    /// What is left when its origin has deleted it.
    func tombstone(_ status: Int) -> Entry {
        var entry = Entry(deleted: id, status, of: origin, at: storedAt)
        entry.revision = revision
        return entry
    }
}
