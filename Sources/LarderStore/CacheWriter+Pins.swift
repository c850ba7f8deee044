import LarderModel

/// What pins want of `cache.db`: the row to pin, and that it goes once it is pinned.
extension CacheWriter {
    /// A row whose bytes can be kept.
    struct Pinnable: Sendable {
        let entry: Entry
        let body: Body

        enum Body: Sendable {
            case inline([UInt8])
            /// Leased: it stays until whoever got this gives it back.
            case chunked(ChunkedBody)
        }

        /// Lets a leased body go.
        func giveBack(to shared: SharedCacheState, _ queue: CommitQueue<CacheWriter>) {
            guard case .chunked(let chunked) = body else { return }
            if shared.leases.giveBack(chunked.number) { queue.wake() }
        }
    }

    /// An id's row, if it can be kept; nil for none, a tombstone, an expired or a damaged one.
    ///
    /// As the writer reads it, every put that was answered or waits before this command is in it.
    func pinnable(
        _ scope: ScopeKey,
        _ id: EntryID,
        now: Timestamp
    ) throws(StoreError) -> Pinnable? {
        guard let found = try find(scope, id).0 else { return nil }
        let statement = try connection.prepare(
            "SELECT \(EntryRow.columns) FROM entry WHERE key = ?1"
        )
        statement.bind(1, found.key.number)
        guard try statement.step() else { return nil }
        let row = EntryRow(statement)
        guard let entry = row.entry(), !entry.isExpired(at: now) else { return nil }
        switch entry.kind {
        case .blob, .fetched: break
        case .tombstone, .variants: return nil
        }
        if let chunked = row.chunkedBody {
            shared.leases.take(chunked.number)
            return Pinnable(entry: entry, body: .chunked(chunked))
        }
        let bytes = row.withBody { Array($0) }
        guard bytes.withUnsafeBytes({ Checksum.digest($0) }) == entry.body.digest else {
            return nil
        }
        return Pinnable(entry: entry, body: .inline(bytes))
    }

    /// Takes the row away that stands under a pinned id; whether there was one that counted.
    func removeShadow(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) -> Bool {
        guard let found = try find(scope, id).0 else { return false }
        try remove(found.key)
        return found.kind != .tombstone
    }
}
