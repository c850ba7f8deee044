import LarderModel
package import LarderStore
package import LarderWire
import Synchronization

extension Engine {
    /// What is cached under several ids at one moment: one frame each, in their order, then `end`.
    ///
    /// It is read at once and told as fast as the client takes it; what is thrown is told instead
    /// of any frame.
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
        let sharing = Set(ids.filter { context.sharedScope(of: $0) != nil })
        var rows: [BatchRow]
        let shown: [EntryID: ShownEntry]
        do throws(StoreError) {
            (rows, shown) = try await store.read { reader throws(StoreError) in
                let rows = try reader.batch(
                    scope,
                    ids,
                    sharing: sharing,
                    now: now,
                    bytesMax: Limits.batchBytesMax
                )
                return (rows, try Self.shown(ids, scope, reader, now: now))
            }
        } catch {
            throw Problem(error)
        }
        let time = clock.monotonic() - began
        rows.reverse()
        for id in ids {
            guard let row = rows.popLast() else { break }
            if case .damaged(let body) = row {
                for place in context.sight(scope, id).scopes { store.drop(body, of: place, id) }
            }
            let frame = BatchFrame(row, shown[id], id, scope.scope, now: now)
            context.count(isHit: frame.isHit)
            guard await emit(frame) else { return }
        }
        _ = await emit(.end(EndFrame(outcome: .cache, cacheTime: time)))
    }

    /// What modifiers make of the rows that they target.
    private static func shown(
        _ ids: [EntryID],
        _ scope: ScopeKey,
        _ reader: StoreReader,
        now: Timestamp
    ) throws(StoreError) -> [EntryID: ShownEntry] {
        var shown: [EntryID: ShownEntry] = [:]
        for id in ids {
            guard let target = try reader.target(scope, id) else { continue }
            let base = target.base(in: scope, reader, now: now).value
            shown[id] = try ShownEntry(id, base, target.changes, in: scope, reader)
        }
        return shown
    }
}

extension BatchFrame {
    fileprivate init(
        _ row: BatchRow,
        _ shown: ShownEntry?,
        _ id: EntryID,
        _ scope: Scope,
        now: Timestamp
    ) {
        var (found, bytes): (Entry?, [UInt8]?) = (nil, nil)
        var overlay = Overlay.none
        switch row {
        case .found(let entry, let body): (found, bytes) = (entry, body)
        case .rebuilt(let rebuilt, let body):
            (found, bytes) = (rebuilt.entry, body)
            overlay = Overlay(rebuilt)
        case .damaged, .missing: break
        }
        if let shown {
            found = shown.entry
            bytes = shown.bytes ?? bytes
        }
        guard let entry = found else {
            self = .miss(id)
            return
        }
        switch entry.kind {
        case .blob, .fetched:
            self = .snapshot(
                SnapshotFrame(
                    source: .cache,
                    revision: entry.revision,
                    isStale: entry.isStale(at: now),
                    age: entry.age(at: now),
                    entry: FrameEntry(entry, body: FrameBody(entry, in: scope, bytes: bytes))
                ).adding(shown.map { $0.overlay.adding(overlay) } ?? overlay)
            )
        case .tombstone:
            let frame = DeletedFrame(revision: entry.revision, status: entry.status)
            self = .deleted(id, frame)
        case .variants, .entity:
            self = .miss(id)
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
