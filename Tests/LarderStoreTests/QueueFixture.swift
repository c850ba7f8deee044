import LarderModel
import LarderNormalize
import LarderTestSupport
import Testing

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
        if text.utf8.count > Limits.inlineBodyBytesMax {
            new.body = try await store.upload(Array(text.utf8), for: new.entry.id, in: new.scope)
        }
        return try await store.take(new, fence: fence)
    }

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

    func end(_ number: ModifierNumber, _ outcome: Settlement.Outcome) async throws(StoreError) {
        let settlement = Settlement(number: number, outcome: outcome)
        try await store.modifiers.settle([settlement], now: .epoch)
    }

    /// Confirms a modifier; `text` is what its targets are from then on, nil leaves them.
    func confirm(_ number: ModifierNumber, _ text: String? = nil) async throws(StoreError) {
        try await end(number, text.map { .confirmed(as: $0) } ?? .confirmed { _, _ in .keep })
    }

    /// Sends a dead letter again; its next number.
    func retry(_ number: ModifierNumber) async throws -> ModifierNumber {
        let revived = try await store.modifiers.retry(
            number,
            of: scope,
            sharing: { _ in false },
            now: .epoch
        )
        return try #require(revived).number
    }

    @discardableResult
    func pin(
        _ id: String,
        of scope: ScopeKey? = nil,
        from origin: OriginName? = nil,
        adoptsShared: Bool = false
    ) async throws(StoreError) -> PinOutcome {
        try await store.pins.pin(
            scope ?? self.scope,
            named(id),
            origin: origin,
            adoptsShared: adoptsShared,
            now: .epoch
        )
    }

    @discardableResult
    func unpin(_ id: String) async throws(StoreError) -> Bool {
        try await store.pins.unpin(scope, named(id), now: .epoch)
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

    func count(_ table: String) throws -> Int64? {
        try stateInteger("SELECT count(*) FROM \(table)")
    }
}

extension Settlement.Outcome {
    static let refused = Self.failed(.refused) { _, _ in LostView() }

    static func confirmed(as text: String) -> Self {
        .confirmed { id, _ in
            let bytes = Array(text.utf8)
            return .put(.fetched(id, bytes), bytes)
        }
    }
}

extension ModifierUpdate {
    init(
        _ number: ModifierNumber,
        _ state: ModifierState,
        nextAttemptAt: Timestamp? = nil,
        attempts: Int = 1,
        answersNotApplied: Int = 1,
        isStalled: Bool = false
    ) {
        self.init(
            number: number,
            state: state,
            nextAttemptAt: nextAttemptAt,
            attempts: attempts,
            answersNotApplied: answersNotApplied,
            isStalled: isStalled
        )
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

extension TouchedMembers {
    /// What an addition to a number touches.
    static let counted = TouchedMembers(stored: Array(#"{"type":"add","value":{"/n":1}}"#.utf8))
}
