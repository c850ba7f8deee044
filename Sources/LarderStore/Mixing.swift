import LarderModel
import LarderNormalize

/// Uses the parts of an overtaken answer that no write has touched (P-06, case 8).
///
/// A write has *overtaken* an answer if it was confirmed after the answer's request departed. The
/// answer then becomes a *mix*: members that the write touched stay as they are in base. A mix is
/// stale and has no validator.
struct Mixing: WriterPart {
    let writer: StoreWriter

    /// Nil if nothing of the answer can be used: base is unknown, or one of the two is not an
    /// object.
    func mix(
        of new: NewEntry,
        _ touched: TouchedMembers,
        _ body: [UInt8]? = nil,
        now: Timestamp
    ) throws(StoreError) -> NewEntry? {
        guard touched != .all, new.entry.kind == .fetched, new.entry.body.isJSON,
            case .value(let base, let known?) = try ownBase(of: new.name, now),
            base.kind == .fetched
        else { return nil }
        var came = body ?? new.body.bytes
        if came == nil, let uploaded = new.uploadedBody { came = try bodies.bytes(of: uploaded) }
        guard let bytes = came.flatMap({ touched.mix($0, into: known) }),
            bytes.count <= Limits.inlineJSONBytesMax
        else { return nil }
        var mix = new
        mix.body = .inline(bytes)
        mix.entry.body = BodySummary(of: bytes, isJSON: true)
        mix.entry.isComplete = base.isComplete
        // The answer to the write is later than the mix.
        mix.entry.storedAt = min(base.storedAt, new.entry.storedAt)
        mix.isMix = true
        mix.becomeStale()
        return mix
    }

    /// The same for an answer whose entities have been merged already.
    func mix(
        of answer: NewAnswer,
        _ touched: TouchedMembers,
        now: Timestamp
    ) throws(StoreError) -> NewAnswer? {
        let (new, entities) = (answer.entry, answer.entities)
        guard let mix = try mix(of: new, touched, entities.split.body, now: now),
            let bytes = mix.body.bytes,
            let split = shared.origins.split(new.entry.id, entities.origin, bytes)
        else { return nil }
        var placed = entities
        placed.split = split
        // Earlier than all that is known of the entities, so that it changes none.
        placed.fetch = Revision(0)
        placed.kept = [:]
        let kept = Dictionary(
            uniqueKeysWithValues: entities.kept.map { (entities.split.keys[$0.key], $0.value) }
        )
        for (number, key) in split.keys.enumerated() { placed.kept[number] = kept[key] }
        return NewAnswer(mix, placed)
    }

    /// Returns the members that each touched entity of an answer keeps, by its number; nil if nothing
    /// of the answer can be used.
    func kept(
        of entities: NewEntities,
        _ fence: AnswerFence,
        now: Timestamp
    ) throws(StoreError) -> [Int: TouchedMembers]? {
        var kept: [Int: TouchedMembers] = [:]
        for (number, id) in entities.ids.enumerated() {
            let touched = fence.touched(entities.scope, id)
            guard touched != .none else { continue }
            switch try ownBase(of: TargetName(entities.scope, id), now) {
            case .entity(_, .present): kept[number] = touched
            case .entity(_, .deleted): kept[number] = .all
            case .entity(_, .unknown), .unknown, .deleted, .value: return nil
            }
        }
        let hasRest = kept.count < entities.split.keys.count || kept.values.contains { $0 != .all }
        return hasRest || kept.isEmpty ? kept : nil
    }

    /// Changes base by an answer, which leaves the touched members as they are.
    ///
    /// For modifiers that were sent on the base before and touch no others, no read has changed it.
    func changing<Value>(
        _ name: TargetName,
        _ touched: TouchedMembers,
        now: Timestamp,
        _ change: () throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        guard touched != .none, try durable(name)?.isTargeted == true else { return try change() }
        let before = try promotion.base(of: name, now: now)
        let value = try change()
        let after = try promotion.base(of: name, now: now)
        try settling.noteChange(of: name, from: before, to: after, except: touched)
        return value
    }

    /// The base in the row itself, not that of a shared row in its place.
    private func ownBase(of name: TargetName, _ now: Timestamp) throws(StoreError) -> TargetBase {
        try sharing.place(of: name) == name ? try promotion.base(of: name, now: now) : .unknown
    }
}
