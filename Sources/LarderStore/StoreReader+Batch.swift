package import LarderModel
import LarderNormalize

/// What a batch has read of one id.
package enum BatchRow: Sendable {
    /// The bytes are nil where they are not read: see ``StoreReader/batch(_:_:now:bytesMax:)``.
    case found(Entry, [UInt8]?)
    /// A normalized answer as it is now; its bytes are nil likewise.
    case rebuilt(RebuiltEntry, [UInt8]?)
    /// A chunk of the body is missing or damaged, so the row has to go.
    case damaged(ChunkedBody)
    case missing
}

extension StoreReader {
    /// The rows of several ids as they are at one moment, in the order of the ids: one transaction.
    ///
    /// The bytes of a row come with it, those of JSON in chunks too, as long as all of them together
    /// have at most `bytesMax`. What is larger, and what is no JSON and too large for a row, comes
    /// without. What the scope has none of is looked for among the shared rows where `sharing` has
    /// the id.
    package func batch(
        _ scope: ScopeKey,
        _ ids: [EntryID],
        sharing: Set<EntryID> = [],
        now: Timestamp,
        bytesMax: Int
    ) throws(StoreError) -> [BatchRow] {
        defer { endTransaction() }
        do throws(StoreError) {
            let rows = try atOneMoment { () throws(StoreError) in
                try reading { file throws(StoreError) in
                    try batch(scope, ids, sharing, now: now, bytesMax: bytesMax, file)
                }
            }
            if let rows { return rows }
        } catch {
            // What is pinned is there without the cache.
            guard error.meansDamage || error.isWantOfFile, !shared.kept.isEmpty else {
                throw error
            }
        }
        return try batch(scope, ids, sharing, now: now, bytesMax: bytesMax, nil)
    }

    private func batch(
        _ scope: ScopeKey,
        _ ids: [EntryID],
        _ sharing: Set<EntryID>,
        now: Timestamp,
        bytesMax: Int,
        _ file: ReaderFile?
    ) throws(StoreError) -> [BatchRow] {
        var left = bytesMax
        var rows: [BatchRow] = []
        rows.reserveCapacity(ids.count)
        for id in ids {
            var row = try batchRow(scope, id, for: scope, now: now, bytesMax: left, file)
            if case .missing = row, sharing.contains(id) {
                let shared = key(for: .shared)
                row = try batchRow(shared, id, for: scope, now: now, bytesMax: left, file)
            }
            switch row {
            case .found(_, let bytes?), .rebuilt(_, let bytes?): left -= bytes.count
            case .found, .rebuilt, .damaged, .missing: break
            }
            rows.append(row)
        }
        return rows
    }

    private func batchRow(
        _ scope: ScopeKey,
        _ id: EntryID,
        for viewer: ScopeKey,
        now: Timestamp,
        bytesMax: Int,
        _ file: ReaderFile?
    ) throws(StoreError) -> BatchRow {
        var last: ChunkedBody?
        while true {
            switch try found(scope, id, for: viewer, now: now, bytesMax: bytesMax, file) {
            case .whole(let entry, let bytes)?:
                return .found(entry, bytes)
            case .chunked(let entry, let body)?:
                if let bytes = try wholeBody(body, file) { return .found(entry, bytes) }
                // No transaction holds a pin's chunks: another body may have taken their place.
                guard body.file == .state, body != last else { return .damaged(body) }
                last = body
            case .normalized(let row)?:
                switch try rebuild(row, for: .view(of: viewer), now: now) {
                case .shown(let shown):
                    let bytes = shown.answer.bytes
                    return .rebuilt(shown, bytes.count <= bytesMax ? bytes : nil)
                case .deleted(let tombstone): return .found(tombstone, nil)
                case .missing: return .missing
                }
            case .mirror(let shown)?:
                let bytes = shown.answer.bytes
                return .rebuilt(shown, bytes.count <= bytesMax ? bytes : nil)
            case .unreadable?, nil:
                return .missing
            }
        }
    }

    private func found(
        _ scope: ScopeKey,
        _ id: EntryID,
        for viewer: ScopeKey,
        now: Timestamp,
        bytesMax: Int,
        _ file: ReaderFile?
    ) throws(StoreError) -> Found? {
        let read = { (row: borrowing EntryRow) in Self.found(row, in: scope, upTo: bytesMax) }
        if shared.kept.covers(scope, id), let (entry, found) = try kept(scope, id, read) {
            let mirror = entry.flatMap {
                rebuiltMirror(of: $0, scope, for: .view(of: viewer), now: now)
            }
            return mirror.map(Found.mirror) ?? found
        }
        if let file, let cached = try readEntry(file, scope, id, now: now, read) { return cached }
        return try withKept(scope, id, read)
    }

    private enum Found {
        case whole(Entry, [UInt8]?)
        case chunked(Entry, ChunkedBody)
        case normalized(NormalizedRow)
        /// What is kept for good, with its entities as they are now.
        case mirror(RebuiltEntry)
        case unreadable
    }

    private static func found(
        _ row: borrowing EntryRow,
        in scope: ScopeKey,
        upTo bytesMax: Int
    ) -> Found {
        if let normalized = row.normalized(in: scope) { return .normalized(normalized) }
        guard let entry = row.entry() else { return .unreadable }
        guard row.byteCount <= bytesMax else { return .whole(entry, nil) }
        guard let body = row.chunkedBody else { return .whole(entry, row.withBody { Array($0) }) }
        let isShown = entry.body.isJSON && row.byteCount <= Limits.inlineJSONBytesMax
        return isShown ? .chunked(entry, body) : .whole(entry, nil)
    }

    /// All chunks of a body, from the open transaction, which sees them whatever becomes of its
    /// row; nil when one is missing or damaged.
    private func wholeBody(
        _ body: ChunkedBody,
        _ file: ReaderFile?
    ) throws(StoreError) -> [UInt8]? {
        if let file, body.file == .cache {
            guard try isWhole(body, file) else { return nil }
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(body.byteCount)
        var position: Int64 = 0
        while bytes.count < body.byteCount {
            let chunk: [UInt8]
            do throws(StoreError) {
                chunk = try batchChunk(position, of: body, file)
            } catch {
                guard error == .badChunk else { throw error }
                return nil
            }
            guard !chunk.isEmpty else { return nil }
            bytes += chunk
            position += 1
        }
        return bytes.count == body.byteCount ? bytes : nil
    }

    private func batchChunk(
        _ position: Int64,
        of body: ChunkedBody,
        _ file: ReaderFile?
    ) throws(StoreError) -> [UInt8] {
        switch body.file {
        case .cache:
            guard let file else { throw .badChunk }
            return try readChunk(position, of: body, file)
        case .state:
            guard let bytes = try keptReader().chunk(position, of: body) else { throw .badChunk }
            return bytes
        }
    }
}

extension StoreError {
    fileprivate var isWantOfFile: Bool {
        if case .noFile = self { true } else { false }
    }
}
