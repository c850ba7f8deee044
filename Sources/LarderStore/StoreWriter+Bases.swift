import LarderModel

/// What stands under the targets of modifiers, and how it becomes theirs.
extension StoreWriter {
    /// One target: whose, which, and whether its answers are everybody's.
    struct Aim {
        let name: TargetName
        let isShared: Bool
    }

    /// What the cache has of targets, ready to be put into `state.db`.
    struct FoundBases {
        var entries: [TargetName: NewEntry] = [:]
        /// Rows of the cache that have to go once they are kept.
        var shadows: [TargetName] = []
        /// Bodies that are to be copied first, a step at a time: too much for one command. Leased.
        var large: [LargeBase] = []
    }

    /// A base whose body is more than one command copies.
    struct LargeBase: Sendable {
        let name: TargetName
        let entry: Entry
        let body: ChunkedBody
    }

    /// What was copied of large bases: the body that it was, and where it is now; nil where it was
    /// damaged, so that nothing is known.
    typealias CopiedBases = [TargetName: (source: ChunkedBody, upload: UploadID?)]

    /// Finds what targets are that nothing is kept of.
    func bases(
        of aims: [Aim],
        _ copied: CopiedBases,
        isCacheGone: Bool,
        now: Timestamp
    ) throws(StoreError) -> FoundBases {
        var found = FoundBases()
        let original = shared.key(for: .shared)
        for aim in aims {
            let name = aim.name
            guard try isWanted(name), found.entries[name] == nil else { continue }
            if aim.isShared {
                found.shadows.append(name)
                if let kept = try state.entry(original, name.id), let entry = kept.entry {
                    try add(kept.taken(entry), name, copied, to: &found)
                    continue
                }
            }
            guard !isCacheGone else { continue }
            let scope = aim.isShared ? original : name.scope
            guard let row = try cache.base(scope, name.id, now: now) else { continue }
            if !aim.isShared { found.shadows.append(name) }
            try add(row, name, copied, to: &found)
            if case .chunked(let body) = row.body, found.large.last?.body != body {
                _ = shared.leases.giveBack(body.number)
            }
        }
        return found
    }

    /// Whether the cache may have the entry of a target: not where its row has one, or has none as
    /// nothing is known.
    private func isWanted(_ name: TargetName) throws(StoreError) -> Bool {
        guard let row = try state.find(name.scope, name.id) else { return true }
        return row.isLeftToCache
    }

    private func add(
        _ row: CacheWriter.Takeable,
        _ name: TargetName,
        _ copied: CopiedBases,
        to found: inout FoundBases
    ) throws(StoreError) {
        var new = NewEntry(scope: name.scope, entry: row.entry, body: .inline([]))
        switch row.body {
        case .inline(let bytes):
            new.body = try linkable(bytes, name, as: .base)
        case .chunked(let body):
            if let copy = copied[name], copy.source == body {
                guard let upload = copy.upload else { return }
                new.body = .uploaded(upload)
            } else if body.byteCount > Limits.copiedAtOnceBytesMax {
                return found.large.append(LargeBase(name: name, entry: row.entry, body: body))
            } else {
                do throws(StoreError) {
                    new.body = try linkable(try bytes(of: body), name, as: .base)
                } catch .badChunk {
                    // Its bytes are damaged: nothing is known.
                    return
                }
            }
        }
        found.entries[name] = new
    }

    /// Bytes where a row of `state.db` can link them; an entity's stand in its row, however many they
    /// are, as they do in the cache.
    func linkable(
        _ bytes: [UInt8],
        _ name: TargetName,
        as keeping: Keeping
    ) throws(StoreError) -> NewBody {
        guard !name.id.isEntity, bytes.count > Limits.inlineBodyBytesMax else {
            return .inline(bytes)
        }
        let upload = try state.beginUpload(name.scope, name.id, as: keeping)
        var rest = bytes[...]
        while !rest.isEmpty {
            let chunk = Array(rest.prefix(Limits.inlineBodyBytesMax))
            try state.append(chunk, to: upload)
            rest = rest.dropFirst(chunk.count)
        }
        return .uploaded(upload)
    }

    /// All of a body, in whichever file it stands.
    func bytes(of body: ChunkedBody) throws(StoreError) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(min(body.byteCount, Limits.inlineJSONBytesMax))
        var position: Int64 = 0
        while bytes.count < body.byteCount {
            let chunk =
                switch body.file {
                case .state: try state.reader.chunk(position, of: body)
                case .cache: try cache.chunk(position, of: body)
                }
            guard let chunk, !chunk.isEmpty, bytes.count + chunk.count <= body.byteCount else {
                throw .badChunk
            }
            bytes += chunk
            position += 1
        }
        return bytes
    }
}

extension StateWriter.KeptEntry {
    /// Its row as one that can be kept under another id: of what its origin has deleted a tombstone.
    fileprivate func taken(_ entry: Entry) -> CacheWriter.Takeable {
        if let status = goneStatus {
            return CacheWriter.Takeable(entry: entry.tombstone(status), body: .inline([]))
        }
        return CacheWriter.Takeable(
            entry: entry,
            body: chunked.map { .chunked($0) } ?? .inline(inline)
        )
    }
}

extension CacheWriter {
    /// One chunk of a body; nil when it is missing or damaged.
    func chunk(_ position: Int64, of body: ChunkedBody) throws(StoreError) -> [UInt8]? {
        let statement = try connection.statement(
            "SELECT checksum, data FROM chunk WHERE chunk = ?1"
        )
        statement.bind(1, Self.chunkKey(body.number, position))
        guard try statement.step(), Checksum.chunk(statement.bytes(1)) == statement.integer(0)
        else { return nil }
        return Array(statement.bytes(1))
    }
}
