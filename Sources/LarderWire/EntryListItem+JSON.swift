import LarderJSON
import LarderModel

extension EntryPage {
    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.name("items")
            json.beginArray()
            for item in items { json.object { item.write(to: &$0) } }
            json.endArray()
            json.member("next", next)
        }
        return json.bytes
    }

    package init(decoding bytes: [UInt8]) throws(WireError) {
        let object = try WireObject(parsing: bytes)
        items = []
        for item in try object.objects("items") { items.append(try EntryListItem(item)) }
        next = try object.optionalString("next")
    }
}

extension EntryListItem {
    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.object { write(to: &$0) }
        return json.bytes
    }

    package init(decoding bytes: [UInt8]) throws(WireError) {
        try self.init(WireObject(parsing: bytes))
    }

    func write(to json: inout JSONWriter) {
        json.member("id", id.text)
        if let scope { scope.write(to: &json) }
        json.member("kind", kind.name)
        json.member("origin", origin?.text)
        json.member("status", status)
        json.member("media_type", mediaType)
        json.member("bytes", byteCount)
        json.member("size", accountedBytes)
        json.member("stored_at", storedAt.rfc3339)
        json.member("last_used", lastUsed)
        json.member("fresh_until", freshUntil?.rfc3339)
        json.member("stale", isStale)
        json.member("rev", revision.number)
        json.member("etag", etag)
        json.member("pinned", isPinned)
        json.member("source", source.rawValue)
    }

    init(_ object: WireObject) throws(WireError) {
        id = try object.id("id")
        scope = try Scope.read(object)
        kind = try object.required("kind") { EntryKind(text: $0) }
        origin = try object.optional("origin") { try? OriginName($0) }
        status = try object.integer("status")
        mediaType = try object.optionalString("media_type")
        byteCount = try object.integer("bytes")
        accountedBytes = try object.integer("size")
        storedAt = try object.timestamp("stored_at")
        lastUsed = try object.integer("last_used")
        freshUntil = try object.optionalTimestamp("fresh_until")
        isStale = try object.bool("stale")
        revision = try object.revision("rev")
        etag = try object.string("etag")
        isPinned = try object.bool("pinned")
        source = try object.required("source") { AnswerSource(rawValue: $0) }
    }
}

extension Scope {
    /// As the parameters `scope` and `account` spell it; shared rows have no account.
    func write(to json: inout JSONWriter) {
        switch self {
        case .own(let uid, let account):
            json.member("scope", "uid:\(uid)")
            json.member("account", account.text)
        case .shared:
            json.member("scope", "shared")
            json.member("account", nil as String?)
        }
    }

    /// Nil where none is told.
    static func read(_ object: WireObject) throws(WireError) -> Scope? {
        guard let text = try object.optionalString("scope") else { return nil }
        if text == "shared" { return .shared }
        guard text.hasPrefix("uid:"), let uid = Scope.uid(text.dropFirst(4)) else {
            throw .unknownValue(member: "scope", text: text)
        }
        return .own(uid: uid, account: try object.required("account") { try? AccountName($0) })
    }
}

extension EntryKind {
    /// As it stands in lists.
    package var name: String {
        switch self {
        case .blob: "blob"
        case .fetched: "fetched"
        case .tombstone: "tombstone"
        case .variants: "variants"
        case .entity: "entity"
        }
    }

    fileprivate init?(text: String) {
        let kinds: [EntryKind] = [.blob, .fetched, .tombstone, .variants, .entity]
        guard let kind = kinds.first(where: { $0.name == text }) else { return nil }
        self = kind
    }
}
