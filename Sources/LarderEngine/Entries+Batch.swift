import LarderModel
package import LarderStore
package import LarderWire
import Synchronization

extension Entries {
    /// What is cached under several ids at one moment: one frame each, in their order, then `end`.
    ///
    /// It is read at once and told as fast as the client takes it, or until the daemon ends; what is
    /// thrown is told instead of any frame.
    package func batch(
        _ command: BatchCommand,
        _ scope: ScopeKey,
        emit: (BatchFrame) async -> Bool
    ) async throws(Problem) {
        guard batches.begin(scope.scope.owner) else {
            throw Problem(.overloaded, "too many batches are being read already")
        }
        defer { batches.end(scope.scope.owner) }
        let began = clock.monotonic()
        let now = clock.now()
        let ids = command.ids
        var found = try await context.read { [context] reader throws(StoreError) in
            try context.views.batch(ids, scope, reader, now: now)
        }
        let time = clock.monotonic() - began
        found.reverse()
        for id in ids {
            // A slow client would be cut off in the middle.
            guard !context.isDraining else {
                _ = await emit(.end(EndFrame(outcome: .shutdown, cacheTime: time)))
                return
            }
            guard let view = found.popLast() else { break }
            if case .damaged(let body, let place) = view { store.bodies.drop(body, of: place, id) }
            let frame = BatchFrame(view, id, scope.scope, now: now)
            context.count(isHit: frame.isHit)
            guard await emit(frame) else { return }
        }
        _ = await emit(.end(EndFrame(outcome: .cache, cacheTime: time)))
    }
}

/// What a batch has read of one id.
private enum BatchedView: Sendable {
    case miss
    /// The bytes are nil where they are not read.
    case shown(ShownAnswer, [UInt8]?)
    /// A chunk of the body is missing or damaged, so the row has to go.
    case damaged(ChunkedBody, ScopeKey)
}

extension Views {
    /// The views of several ids as they are at one moment, in the order of the ids.
    ///
    /// The bytes come with them, those of JSON in chunks too, as long as all of them together have at
    /// most ``Limits/batchBytesMax``. What is larger, and what is no JSON and too large for a row,
    /// comes without.
    fileprivate func batch(
        _ ids: [EntryID],
        _ scope: ScopeKey,
        _ reader: StoreReader,
        now: Timestamp
    ) throws(StoreError) -> [BatchedView] {
        defer { reader.endTransaction() }
        return try reader.atOneMoment { () throws(StoreError) in
            var left = Limits.batchBytesMax
            var views: [BatchedView] = []
            views.reserveCapacity(ids.count)
            for id in ids {
                let view = try batched(id, scope, reader, now: now, bytesMax: left)
                if case .shown(_, let bytes?) = view { left -= bytes.count }
                views.append(view)
            }
            return views
        }
    }

    private func batched(
        _ id: EntryID,
        _ scope: ScopeKey,
        _ reader: StoreReader,
        now: Timestamp,
        bytesMax: Int
    ) throws(StoreError) -> BatchedView {
        let sight = context.sight(scope, id)
        guard let answer = try ShownAnswer(context, reader, sight, id, now: now) else {
            return .miss
        }
        let isRoom = answer.entry.body.byteCount <= bytesMax
        if case .bytes(let bytes) = answer.body { return .shown(answer, isRoom ? bytes : nil) }
        guard isRoom, let body = answer.chunkedJSON else { return .shown(answer, nil) }
        guard let bytes = try reader.wholeBody(body) else { return .damaged(body, answer.place) }
        return .shown(answer, bytes)
    }
}

extension BatchFrame {
    fileprivate init(_ view: BatchedView, _ id: EntryID, _ scope: Scope, now: Timestamp) {
        switch view {
        case .miss, .damaged: self = .miss(id)
        case .shown(let answer, _) where answer.entry.kind == .tombstone:
            self = .deleted(id, answer.deletion)
        case .shown(let answer, let bytes):
            self = .snapshot(SnapshotFrame(answer, bytes, for: scope, now: now))
        }
    }

    fileprivate var isHit: Bool {
        switch self {
        case .snapshot, .deleted: true
        case .miss, .end: false
        }
    }
}

/// Batches whose answers are in memory, counted in all and for each user; guarded by a lock.
final class BatchCount: Sendable {
    private let running = Mutex<[Scope.Owner: Int]>([:])

    /// False when there are too many.
    func begin(_ owner: Scope.Owner) -> Bool {
        running.withLock { running in
            let ofOwner = running[owner, default: 0]
            let all = running.values.reduce(0, +)
            guard all < Limits.batchesMax, ofOwner < Limits.batchesPerUserMax else { return false }
            running[owner] = ofOwner + 1
            return true
        }
    }

    func end(_ owner: Scope.Owner) {
        running.withLock { running in
            let left = running[owner, default: 1] - 1
            running[owner] = left == 0 ? nil : left
        }
    }
}
