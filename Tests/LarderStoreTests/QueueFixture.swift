import LarderModel
import LarderTestSupport

@testable import LarderStore

extension TemporaryStore {
    /// Puts an origin's answer of JSON, in chunks where it is large.
    @discardableResult
    func answer(
        _ id: String,
        _ text: String,
        in scope: ScopeKey? = nil,
        fence: AnswerFence? = nil
    ) async throws(StoreError) -> PutReceipt {
        var new = NewEntry.fetched(scope ?? self.scope, named(id), text)
        guard text.utf8.count > Limits.inlineBodyBytesMax else {
            return try await store.put(new, now: .epoch, fence: fence)
        }
        let upload = try await store.bodies.begin(for: new.scope, new.entry.id)
        new.body = .uploaded(upload)
        do throws(StoreError) {
            for chunk in Array(text.utf8).chunks {
                try await store.bodies.append(chunk, to: upload, now: .epoch)
            }
            return try await store.put(new, now: .epoch, fence: fence)
        } catch {
            store.bodies.abandon(upload)
            throw error
        }
    }

    /// Accepts one modifier that changes some ids.
    @discardableResult
    func accept(
        _ name: String,
        _ ids: String...,
        effect: String = "{}",
        isOfSharedRow: Bool = false,
        in scope: ScopeKey? = nil
    ) async throws(StoreError) -> ModifierNumber {
        let new = NewModifier.changing(
            ids,
            name,
            scope ?? self.scope,
            effect: effect,
            isOfSharedRow: isOfSharedRow
        )
        return try await store.modifiers.accept([new], now: .epoch)[0].number
    }

    /// Confirms a modifier; `text` is what its targets are from then on, nil leaves them.
    func confirm(
        _ number: ModifierNumber,
        _ text: String? = nil
    ) async throws(StoreError) {
        let settlement = Settlement(
            number: number,
            outcome: .confirmed { id, _ in
                guard let text else { return .keep }
                let bytes = Array(text.utf8)
                return .put(.fetched(id, bytes), bytes)
            }
        )
        try await store.modifiers.settle([settlement], now: .epoch)
    }

    /// What a target's view is made of, as a loop reads it.
    func target(_ id: String, in scope: ScopeKey? = nil) throws -> (base: String?, [String])? {
        let reader = try store.makeReader()
        defer { reader.endTransaction() }
        guard let target = try reader.targets.target(scope ?? self.scope, named(id)) else {
            return nil
        }
        return (target.base.text, target.changes.map(\.modifier))
    }

    /// The text under an id, whichever file it stands in; nil for a miss, and for a tombstone.
    func text(_ id: String, in scope: ScopeKey? = nil) async throws -> String? {
        let scope = scope ?? self.scope
        let entry = try await store.read { reader throws(StoreError) in
            try reader.entry(scope, named(id), now: .epoch)
        }
        guard let entry, entry.kind != .tombstone else { return nil }
        return try await store.bytes(scope, named(id)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// How many rows a table of `state.db` has.
    func count(_ table: String) throws -> Int64? {
        let file = try SQLiteConnection(path: statePath, mode: .readOnly)
        return try file.integer("SELECT count(*) FROM \(table)")
    }
}

extension TargetBase {
    /// The bytes as a text; `deleted` for a tombstone, nil for what is unknown.
    var text: String? {
        switch self {
        case .unknown: nil
        case .deleted: "deleted"
        case .value(_, let bytes): bytes.map { String(decoding: $0, as: UTF8.self) } ?? "no JSON"
        case .entity(let entry, _): entry.kind == .tombstone ? "deleted" : "entity"
        }
    }
}

extension Entry {
    static func fetched(_ id: EntryID, _ bytes: [UInt8]) -> Entry {
        var entry = Entry(
            id: id,
            kind: .fetched,
            storedAt: .epoch,
            revision: Revision(0),
            body: BodySummary(of: bytes, isJSON: true)
        )
        entry.origin = try? OriginName("host")
        entry.etag = "\"\(entry.body.digest.text)\""
        entry.freshUntil = Timestamp(milliseconds: 1_000_000)
        return entry
    }
}

extension NewEntry {
    static func fetched(_ scope: ScopeKey, _ id: EntryID, _ text: String) -> NewEntry {
        let bytes = Array(text.utf8)
        return NewEntry(scope: scope, entry: .fetched(id, bytes), body: .inline(bytes))
    }

    /// What an origin says of what it has deleted.
    static func tombstone(_ scope: ScopeKey, _ id: EntryID, _ status: Int = 410) -> NewEntry {
        let entry = Entry.fetched(id, []).tombstone(status)
        return NewEntry(scope: scope, entry: entry, body: .inline([]))
    }
}

extension NewModifier {
    static func changing(
        _ ids: [String],
        _ name: String,
        _ scope: ScopeKey,
        effect: String = "{}",
        isOfSharedRow: Bool = false,
        body: [UInt8] = [1, 2, 3]
    ) -> NewModifier {
        guard let id = try? ModifierID(name), let origin = try? OriginName("host"),
            let url = try? WebURL("https://host/1")
        else { preconditionFailure("\(name) is no modifier's id") }
        let submitted = Array("\(ids)\(effect)".utf8)
        return NewModifier(
            id: id,
            scope: scope,
            origin: origin,
            request: QueuedRequest(
                method: "PATCH",
                url: url,
                mediaType: "application/json",
                body: body
            ),
            changes: ids.map { target in
                NewChange(
                    id: named(target),
                    effect: Array(effect.utf8),
                    isOfSharedRow: isOfSharedRow
                )
            },
            digest: BodySummary(of: submitted, isJSON: false).digest
        )
    }
}

func named(_ text: String) -> EntryID {
    guard let id = try? EntryID(stored: text) else { preconditionFailure("\(text) is no id") }
    return id
}
