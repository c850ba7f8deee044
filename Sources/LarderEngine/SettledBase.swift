import LarderJSON
import LarderModel
import LarderStore
import LarderStrategy

/// What a target's base is once a modifier of it was confirmed (cases 5 and 6).
enum SettledBase: Equatable, Sendable {
    /// It is as it was, and to be asked for again.
    case stale
    case value(Entry, [UInt8])
    case deleted(Entry)

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
        on base: KeptBase,
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

    /// It has no validator that the origin knows, and is stale.
    private static func made(
        _ id: EntryID,
        _ bytes: [UInt8],
        _ mediaType: String?,
        _ base: KeptBase,
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

extension KeptBase {
    var isKnown: Bool {
        if case .unknown = self { false } else { true }
    }

    /// The value; nil where there is none.
    var entry: Entry? {
        switch self {
        case .unknown, .deleted: nil
        case .value(let entry, _): entry
        }
    }
}

extension TargetContent {
    init(_ base: KeptBase) {
        switch base {
        case .unknown: self = .unknown
        case .deleted: self = .deleted
        case .value(_, let bytes):
            let value = bytes.flatMap { try? JSONValue(parsing: $0) }
            self = value.map { .json($0) } ?? .opaque
        }
    }
}
