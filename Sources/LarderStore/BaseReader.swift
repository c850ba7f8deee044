import LarderModel
import Synchronization

/// Reads what the cache has of a target on the thread that asks, while the cache's writer has
/// nothing to do: a look that costs less than waking that thread does.
final class BaseReader: Sendable {
    /// What a look has come to.
    enum Look {
        case found(CacheWriter.Takeable?)
        /// Only the writer can tell.
        case notTold
    }

    private let reader: Mutex<StoreReader>
    private let writer: CommitQueue<CacheWriter>

    init(_ reader: consuming sending StoreReader, _ writer: CommitQueue<CacheWriter>) {
        self.reader = Mutex(reader)
        self.writer = writer
    }

    /// What a covered id's row is, as ``CacheWriter/base(_:_:now:)`` tells it.
    ///
    /// A put that is on its way may have looked into the index before the id was covered; with
    /// nothing on its way each has been committed, and the next one looks. Left to the writer is
    /// a row that it would take away, one whose chunks have to be leased, and one that is normalized.
    func base(_ scope: ScopeKey, _ id: EntryID, now: Timestamp) -> Look {
        guard writer.isQuiet else { return .notTold }
        return reader.withLock { reader in
            defer { reader.endTransaction() }
            // What a file that is lost now has will show when it is back.
            guard reader.shared.generation.hasFile else { return .notTold }
            do throws(StoreError) {
                return try reader.withRow(scope, id) { Self.look(at: $0, now: now) } ?? .found(nil)
            } catch {
                return .notTold
            }
        }
    }

    private static func look(at row: borrowing EntryRow, now: Timestamp) -> Look {
        guard row.chunkedBody == nil, row.skeleton == nil, let entry = row.entry(),
            !entry.isExpired(at: now)
        else {
            return .notTold
        }
        let bytes = row.withBody { Array($0) }
        guard bytes.withUnsafeBytes({ Checksum.digest($0) }) == entry.body.digest else {
            return .notTold
        }
        return .found(CacheWriter.Takeable(entry: entry, body: .inline(bytes)))
    }
}
