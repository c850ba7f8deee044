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
        guard context.batches.withLock({ $0.take(scope.scope.uid) }) else {
            throw Problem(.overloaded, "too many batches are being read already")
        }
        defer { context.batches.withLock { $0.giveBack(scope.scope.uid) } }
        let began = clock.monotonic()
        let now = clock.now()
        let ids = command.ids
        var found = try await context.read { [context] reader throws(StoreError) in
            try context.views.batch(ids, scope, reader, now: now)
        }
        let time = clock.monotonic() - began
        found.reverse()
        for _ in ids {
            // A slow client would be cut off in the middle.
            guard !context.isDraining else {
                _ = await emit(.end(EndFrame(outcome: .shutdown, cacheTime: time)))
                return
            }
            guard let frame = found.popLast() else { break }
            context.count(isHit: frame.isHit)
            guard await emit(frame) else { return }
        }
        _ = await emit(.end(EndFrame(outcome: .cache, cacheTime: time)))
    }
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
    ) throws(StoreError) -> [BatchFrame] {
        defer { reader.endTransaction() }
        return try reader.atOneMoment { () throws(StoreError) in
            var left = Limits.batchBytesMax
            return try ids.map { id throws(StoreError) in
                try frame(of: id, scope, reader, now: now, &left)
            }
        }
    }

    private func frame(
        of id: EntryID,
        _ scope: ScopeKey,
        _ reader: StoreReader,
        now: Timestamp,
        _ left: inout Int
    ) throws(StoreError) -> BatchFrame {
        let sight = context.sight(scope, id)
        guard let answer = try ShownAnswer(context, reader, sight, id, now: now) else {
            return .miss(id)
        }
        guard answer.entry.kind != .tombstone else { return .deleted(id, answer.deletion) }
        var bytes: [UInt8]?
        if answer.entry.body.byteCount <= left {
            if case .bytes(let whole) = answer.body { bytes = whole }
            if let body = answer.chunkedJSON {
                bytes = try reader.bodies.whole(body)
                // A chunk of it is missing or damaged, so the row has to go.
                guard bytes != nil else {
                    store.bodies.drop(body, of: answer.place, id)
                    return .miss(id)
                }
            }
        }
        left -= bytes?.count ?? 0
        return .snapshot(SnapshotFrame(answer, bytes, for: scope.scope, now: now))
    }
}

extension BatchFrame {
    fileprivate var isHit: Bool {
        switch self {
        case .snapshot, .deleted: true
        case .miss, .end: false
        }
    }
}
