import LarderJSON
import LarderModel
import LarderNormalize
import LarderStore
import LarderStrategy
import LarderWire

/// What a target's base is once a modifier of it was confirmed (cases 5 and 6).
extension BaseUpdate {
    /// The answer to the write is the target as it is now.
    ///
    /// Nil where it cannot be one.
    init?(
        _ id: EntryID,
        representedBy answer: ModifierAttempt.Answer,
        _ origin: OriginSettings
    ) {
        let isJSON = JSONValidator.accepts(answer.body)
        let saysJSON = answer.headers["Content-Type"].map(MediaType.isAnyJSON) ?? false
        guard isJSON || !saysJSON else { return nil }
        let entry = Entry(
            id,
            answer.headers,
            of: origin.name,
            at: answer.at,
            Freshness(answer.headers, settings: origin.fetch, now: answer.at),
            BodySummary(of: answer.body, isJSON: isJSON)
        )
        self = .put(entry, answer.body)
    }

    /// The answer says no more than that it was done: base is what the effect makes of it as it is
    /// now.
    ///
    /// Base is as sent while it is what it was when the modifier was sent. What a patch makes of
    /// anything else nobody can tell, nor whether what was read since has an addition in it (case 6).
    init(
        _ id: EntryID,
        _ effect: Effect,
        of whole: WholeModifier,
        on base: TargetBase,
        isAsSent: Bool,
        at now: Timestamp
    ) {
        self = .markStale
        guard isAsSent || !effect.counts else { return }
        let (modifier, values) = (whole.modifier, TargetValues(base, of: id, [effect]))
        let body: EntityBody?
        switch effect.applied(to: values.content) {
        // Of a target of which nothing was known, a part of it is no base.
        case .unchanged, .inapplicable, .json(_, isComplete: false): return
        case .json(let value, _) where id.isEntity: body = values.body(value)
        case .json(let value, _):
            let type = base.entry?.mediaType ?? MediaType.json
            self = .made(id, values.bytes(value), type, base, modifier.origin, now)
            return
        case .body where id.isEntity:
            body = (try? JSONValue(parsing: whole.body)).flatMap(values.body)
        case .body:
            self = .made(id, whole.body, modifier.mediaType, base, modifier.origin, now)
            return
        case .deleted where id.isEntity:
            self = BaseUpdate(.deleted(base.held.stamp), id, modifier.origin, now)
            return
        case .deleted:
            self = .tombstone(status: 404)
            return
        }
        guard let body else { return }
        self = BaseUpdate(.present(body, base.held.stamp), id, modifier.origin, now)
    }

    /// The answer to the write says what an entity is now; of members that it does not have, what the
    /// effect made of them stays.
    ///
    /// Nil where it does not.
    init?(
        _ id: EntryID,
        shownBy answer: ModifierAttempt.Answer,
        _ rules: EntityRules,
        path: String,
        on held: HeldEntity,
        fetch: Revision,
        _ origin: OriginName
    ) {
        guard let name = id.entity, case .split(let split) = rules.split(answer, path: path),
            let number = split.keys.firstIndex(of: name.key)
        else { return nil }
        let merged = split.merged(number, into: held, fetch: fetch.number)
        self = BaseUpdate(merged.held, id, origin, answer.at)
    }

    private init(_ held: HeldEntity, _ id: EntryID, _ origin: OriginName, _ now: Timestamp) {
        self = held.row(id, of: origin, now).map { .put($0.entry, $0.bytes) } ?? .markStale
    }

    /// A base that has no validator that the origin knows, and is stale.
    private static func made(
        _ id: EntryID,
        _ bytes: [UInt8],
        _ mediaType: String?,
        _ base: TargetBase,
        _ origin: OriginName,
        _ now: Timestamp
    ) -> BaseUpdate {
        let isBlob = base.entry?.kind == .blob
        let isJSON = bytes.count <= Limits.inlineJSONBytesMax && JSONValidator.accepts(bytes)
        var entry = Entry(
            id: id,
            kind: isBlob ? .blob : .fetched,
            storedAt: now,
            revision: Revision(0),
            body: BodySummary(of: bytes, isJSON: isJSON)
        )
        entry.origin = isBlob ? nil : base.entry?.origin ?? origin
        entry.mediaType = mediaType
        entry.freshUntil = isBlob ? base.entry?.freshUntil : nil
        return .put(entry, bytes)
    }
}

extension EntityRules {
    /// Splits what an origin has answered to a write.
    func split(_ answer: ModifierAttempt.Answer, path: String) -> SplitOutcome {
        Splitter(self, bodyBytesMax: Limits.normalizedBodyBytesMax).split(answer.body, path: path)
    }
}
