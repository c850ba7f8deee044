import LarderJSON
import LarderModel
import LarderNormalize
import LarderStore
import LarderStrategy

/// What a target's base is once a modifier of it was confirmed (cases 5 and 6).
enum SettledBase: Equatable, Sendable {
    /// It is as it was, and to be asked for again.
    case stale
    case value(Entry, [UInt8])
    case deleted(Entry)
    /// An entity, which may be deleted.
    case entity(Entry, [UInt8])

    /// The answer to the write is the target as it is now.
    ///
    /// Nil where it cannot be one.
    init?(
        _ id: EntryID,
        representedBy answer: ModifierAttempt.Answer,
        _ origin: OriginSettings
    ) {
        let type = answer.headers["Content-Type"]
        let isJSON = JSONValidator.accepts(answer.body)
        guard isJSON || !(type.map(Self.saysJSON) ?? false) else { return nil }
        var entry = Entry(
            id: id,
            kind: .fetched,
            storedAt: answer.at,
            revision: Revision(0),
            body: BodySummary(of: answer.body, isJSON: isJSON)
        )
        entry.origin = origin.name
        entry.mediaType = type
        entry.etag = answer.headers["ETag"]
        entry.lastModified = answer.headers["Last-Modified"]
        entry.headers = answer.headers.kept
        let freshness = Freshness(answer.headers, settings: origin.fetch, now: answer.at)
        entry.freshUntil = freshness.until
        self = .value(entry, answer.body)
    }

    /// The answer says no more than that it was done: base is what the effect makes of it as it is
    /// now.
    ///
    /// The body is the modifier's own. Base is patchable while it is what it was when the modifier
    /// was sent; what a patch makes of anything else, nobody can tell.
    init(
        _ id: EntryID,
        _ effect: Effect,
        on base: TargetBase,
        body: [UInt8],
        mediaType: String?,
        isPatchable: Bool,
        _ origin: OriginName,
        at now: Timestamp
    ) {
        if case .patch = effect, !isPatchable {
            self = .stale
            return
        }
        switch effect.applied(to: TargetContent(base)) {
        case .unchanged, .inapplicable:
            self = .stale
        case .json(let value, let isComplete):
            // Of a target of which nothing was known, a part of it is no base.
            guard isComplete else {
                self = .stale
                return
            }
            var json = JSONWriter()
            json.value(value)
            let type = base.entry?.mediaType ?? "application/json"
            self = .made(id, json.bytes, type, base, origin, now)
        case .body:
            self = .made(id, body, mediaType, base, origin, now)
        case .deleted:
            var entry = Entry(
                id: id,
                kind: .tombstone,
                status: 404,
                storedAt: now,
                revision: Revision(0),
                body: BodySummary(of: [], isJSON: false)
            )
            entry.origin = base.entry?.origin ?? origin
            self = .deleted(entry)
        }
    }

    /// The same of an entity.
    init(
        _ id: EntryID,
        _ effect: Effect,
        onEntity base: TargetBase,
        body: [UInt8],
        isPatchable: Bool,
        _ origin: OriginName,
        at now: Timestamp
    ) {
        if case .patch = effect, !isPatchable {
            self = .stale
            return
        }
        let values = TargetValues(base, of: id, [effect])
        var made: JSONValue?
        switch effect.applied(to: values.content) {
        case .unchanged, .inapplicable: break
        case .json(let value, let isComplete): made = isComplete ? value : nil
        case .body: made = try? JSONValue(parsing: body)
        case .deleted:
            self = SettledBase(.deleted(base.held.stamp), id, origin, now)
            return
        }
        guard let body = made.flatMap(values.body) else {
            self = .stale
            return
        }
        self = SettledBase(.present(body, base.held.stamp), id, origin, now)
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
        self = SettledBase(merged.held, id, origin, answer.at)
    }

    private init(
        _ held: HeldEntity,
        _ id: EntryID,
        _ origin: OriginName,
        _ now: Timestamp
    ) {
        let entry = Entry(held, id, of: origin, now)
        self = entry.map { .entity($0, held.stored ?? []) } ?? .stale
    }

    /// It has no validator that the origin knows, and is stale.
    private static func made(
        _ id: EntryID,
        _ bytes: [UInt8],
        _ mediaType: String?,
        _ base: TargetBase,
        _ origin: OriginName,
        _ now: Timestamp
    ) -> SettledBase {
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
        return .value(entry, bytes)
    }

    private static func saysJSON(_ type: String) -> Bool {
        let essence = type.prefix { $0 != ";" }.filter { $0 != " " }.lowercased()
        return essence == "application/json" || essence.hasSuffix("+json")
    }
}

extension EntityRules {
    /// Splits what an origin has answered to a write.
    func split(_ answer: ModifierAttempt.Answer, path: String) -> SplitOutcome {
        Splitter(self, bodyBytesMax: Limits.normalizedBodyBytesMax).split(answer.body, path: path)
    }
}
