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

    /// Puts a client's blob.
    @discardableResult
    func put(
        _ id: String,
        _ bytes: [UInt8],
        ttl: Timestamp? = nil
    ) async throws -> PutReceipt {
        try await store.put(.blob(scope, EntryID(id), bytes, ttl: ttl), now: .epoch)
    }

    /// Puts a body in chunks, as an upload of any size is kept.
    @discardableResult
    func upload(_ id: String, _ bytes: [UInt8]) async throws -> PutReceipt {
        let upload = try await store.bodies.begin()
        for chunk in bytes.chunks {
            try await store.bodies.append(chunk, to: upload, now: .epoch)
        }
        var new = NewEntry.blob(scope, try EntryID(id), bytes)
        new.body = .uploaded(upload)
        return try await store.put(new, now: .epoch)
    }

    /// The bytes under an id, whichever way they are kept; nil for a miss.
    func bytes(_ id: String) async throws -> [UInt8]? {
        try await store.bytes(scope, EntryID(id))
    }

    /// The ids of a scope in an order.
    func ids(_ order: RowOrder = .id) async throws -> [String] {
        let filter = RowFilter(scope: scope)
        return try await store.read { reader throws(StoreError) in
            try reader.lists.page(filter, order: order, after: nil, limit: .max).map(
                \.entry.id.text
            )
        }
    }
}

extension Store {
    /// The bytes of each user's rows, as the writer counts them.
    func owners() async throws(StoreError) -> [UInt32: Int64] {
        try await commits.submit { writer throws(StoreError) in
            let sums = try writer.cache.state.owners.bytes
            return Dictionary(uniqueKeysWithValues: sums.map { (UInt32($0.key), $0.value) })
        }
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
    /// All that is left of the body.
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
