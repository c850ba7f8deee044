import LarderModel
import LarderTestSupport
import Synchronization

@testable import LarderStore

/// A wall clock that stands still until it is set.
final class HandClock: Sendable {
    private let moment = Mutex<Int64>(1_000_000)

    var now: Timestamp { Timestamp(milliseconds: moment.withLock { $0 }) }

    func advance(by duration: Duration) {
        moment.withLock { $0 += duration.milliseconds }
    }
}

extension Scope {
    /// Two uids, two accounts of one of them, and what all share.
    static let several: [Scope] = {
        guard let work = try? AccountName("work") else { return [] }
        return [
            .own(uid: 1_000, account: .default), .own(uid: 1_000, account: work),
            .own(uid: 1_001, account: .default), .shared,
        ]
    }()
    static let first = Scope.own(uid: 1_000, account: .default)
}

extension TemporaryStore {
    /// The scope that a test needs when it needs only one.
    var scope: ScopeKey { store.key(for: .first) }

    @discardableResult
    func put(_ id: String, _ bytes: [UInt8], ttl: Timestamp? = nil) async throws -> PutReceipt {
        try await store.put(.blob(scope, EntryID(id), bytes, ttl: ttl), now: .epoch)
    }

    /// Puts a body in chunks, as an upload of any size is kept.
    @discardableResult
    func upload(_ id: String, _ bytes: [UInt8]) async throws(StoreError) -> PutReceipt {
        var new = NewEntry.blob(scope, named(id), bytes)
        new.body = try await store.upload(bytes)
        return try await store.take(new)
    }

    /// The bytes under an id, whichever way they are kept; nil for a miss.
    func bytes(_ id: String) async throws -> [UInt8]? {
        try await store.bytes(scope, EntryID(id))
    }

    func ids(_ order: RowOrder = .id) async throws -> [String] {
        try await store.rows(RowFilter(scope: scope), order).map(\.entry.id.text)
    }

    /// What a query of `state.db` finds in its first row and column.
    func stateInteger(_ sql: String) throws -> Int64? {
        try SQLiteConnection(path: statePath, mode: .readOnly).integer(sql)
    }

    /// Writes into `state.db` without the store.
    func changeState(_ sql: String) throws {
        try SQLiteConnection(path: statePath, mode: .readWrite).execute(sql)
    }
}

extension Store {
    /// The chunks of a body, for an id that may be known; none are left where one fails.
    func upload(
        _ bytes: [UInt8],
        for id: EntryID? = nil,
        in scope: ScopeKey? = nil,
        isPinning: Bool = false
    ) async throws(StoreError) -> NewBody {
        let scope = scope ?? key(for: .first)
        let upload =
            if let id {
                try await bodies.begin(for: scope, id, isPinning: isPinning)
            } else {
                try await bodies.begin()
            }
        do throws(StoreError) {
            for chunk in bytes.chunks { try await bodies.append(chunk, to: upload, now: .epoch) }
        } catch {
            bodies.abandon(upload)
            throw error
        }
        return .uploaded(upload)
    }

    /// Puts an entry whose chunks go where it is refused.
    func take(
        _ new: NewEntry,
        fence: AnswerFence? = nil,
        isPinning: Bool = false
    ) async throws(StoreError) -> PutReceipt {
        do throws(StoreError) {
            if isPinning { return try await pins.put(new, now: .epoch) }
            return try await put(new, now: .epoch, fence: fence)
        } catch {
            if let upload = new.body.upload { bodies.abandon(upload) }
            throw error
        }
    }

    /// The bytes of each user's rows, as the writer counts them.
    func owners() async throws(StoreError) -> [UInt32: Int64] {
        try await commits.submit { writer throws(StoreError) in
            let sums = try writer.cache.state.owners.bytes
            return Dictionary(uniqueKeysWithValues: sums.map { (UInt32($0.key), $0.value) })
        }
    }

    func rows(
        _ filter: RowFilter,
        _ order: RowOrder = .id,
        after cursor: RowCursor? = nil,
        limit: Int = .max
    ) async throws(StoreError) -> [ListedRow] {
        try await read { reader throws(StoreError) in
            try reader.lists.page(filter, order: order, after: cursor, limit: limit)
        }
    }

    /// A list from its first row to its last, page by page.
    func allRows(
        _ filter: RowFilter,
        _ order: RowOrder,
        limit: Int
    ) async throws(StoreError) -> [ListedRow] {
        var rows: [ListedRow] = []
        while true {
            let cursor = rows.last?.cursor(order)
            let page = try await self.rows(filter, order, after: cursor, limit: limit)
            precondition(page.count <= limit)
            if page.isEmpty { return rows }
            rows += page
        }
    }

    /// The first rows that an eviction would take.
    func candidates(
        _ filter: RowFilter,
        limit: Int = .max
    ) async throws(StoreError) -> [EvictionCandidate] {
        try await read { reader throws(StoreError) in
            try reader.lists.candidates(filter, after: nil, limit: limit)
        }
    }

    /// A row as an eviction would take it.
    func candidate(
        _ scope: ScopeKey,
        _ id: EntryID
    ) async throws(StoreError) -> EvictionCandidate? {
        try await read { reader throws(StoreError) in try reader.lists.candidate(scope, id) }
    }

    /// Throws where an invariant of `EntryWriter` is broken; without a file nothing is shown.
    func requireInvariants() async throws {
        guard shared.generation.hasFile else { return }
        let broken: [String]
        do throws(StoreError) {
            broken = try await commits.submit { writer throws(StoreError) in
                try writer.brokenInvariants()
            }
        } catch {
            // A disk that fails now shows nothing.
            return
        }
        try LarderStoreTests.require(broken.isEmpty, "broken invariants: \(broken)")
    }

    /// The bytes of a row, whichever way they are kept, without a use; nil for a miss.
    func bytes(_ scope: ScopeKey, _ id: EntryID) async throws(StoreError) -> [UInt8]? {
        let found = try await read { reader throws(StoreError) in
            try reader.withEntry(scope, id, now: .epoch, isUse: false) { row in
                (row.chunkedBody, row.withBody { Array($0) })
            }
        }
        guard let (chunked, inline) = found else { return nil }
        guard let chunked else { return inline }
        guard let body = try await bodies.open(chunked, of: scope, id, now: .epoch) else {
            return nil
        }
        return try await body.rest()
    }

    /// How the body under an id is kept in chunks; nil when it is not.
    func chunkedBody(_ scope: ScopeKey, _ id: EntryID) async throws(StoreError) -> ChunkedBody? {
        try await read { reader throws(StoreError) in
            try reader.withEntry(scope, id, now: .epoch, isUse: false) { $0.chunkedBody } ?? nil
        }
    }
}

extension BodyReader {
    func rest() async throws(StoreError) -> [UInt8] {
        var bytes: [UInt8] = []
        while let chunk = try await next() { bytes += chunk }
        return bytes
    }
}

extension NewEntry {
    static func blob(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ bytes: [UInt8],
        ttl: Timestamp? = nil
    ) -> NewEntry {
        var entry = Entry(
            id: id,
            kind: .blob,
            storedAt: .epoch,
            revision: Revision(0),
            body: BodySummary(of: bytes, isJSON: false)
        )
        entry.freshUntil = ttl
        return NewEntry(scope: scope, entry: entry, body: .inline(bytes))
    }
}

extension Timestamp {
    static let epoch = Timestamp(milliseconds: 0)
}

extension [UInt8] {
    /// Bytes that differ along the way, other ones for another `mark`.
    static func pattern(_ count: Int, _ mark: UInt8 = 0) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            for index in 0..<count {
                buffer[index] = UInt8(truncatingIfNeeded: index / 251) &+ mark
            }
            filled = count
        }
    }

    /// Cut as an upload is: every piece but the last is full.
    var chunks: [[UInt8]] {
        stride(from: 0, to: count, by: Limits.inlineBodyBytesMax).map {
            Array(self[$0..<Swift.min(count, $0 + Limits.inlineBodyBytesMax)])
        }
    }
}
