import LarderJSON
package import LarderModel

/// One row of a list of entities: what is known of one without its value.
package struct EntityListItem: Equatable, Sendable {
    package var name: EntityName
    /// Whose row it is; told in lists of others' rows only.
    package var scope: Scope?
    /// Whether what is known is that the origin has deleted it.
    package var isDeleted: Bool
    /// The bytes that hold it, in a form of the daemon's own.
    package var byteCount: Int
    /// What it counts against `cache.max_bytes`, with its key, its references and the fixed cost of
    /// its rows.
    package var accountedBytes: Int64
    package var storedAt: Timestamp
    /// The moment of its last use, by the logical clock that eviction goes by.
    package var lastUsed: Int64
    /// `modifier` where no server has said what is shown; else `cache`.
    package var source: AnswerSource
    package var revision: Revision

    package init(
        name: EntityName,
        isDeleted: Bool,
        byteCount: Int,
        accountedBytes: Int64,
        storedAt: Timestamp,
        lastUsed: Int64,
        source: AnswerSource = .cache,
        revision: Revision
    ) {
        self.name = name
        self.isDeleted = isDeleted
        self.byteCount = byteCount
        self.accountedBytes = accountedBytes
        self.storedAt = storedAt
        self.lastUsed = lastUsed
        self.source = source
        self.revision = revision
    }
}

extension EntityListItem {
    func write(to json: inout JSONWriter) {
        json.member("key", name.key.text)
        json.member("origin", name.origin.text)
        if let scope { scope.write(to: &json) }
        json.member("kind", EntryKind.entity.name)
        json.member("type", name.key.type)
        json.member("deleted", isDeleted)
        json.member("bytes", byteCount)
        json.member("size", accountedBytes)
        json.member("stored_at", storedAt.rfc3339)
        json.member("last_used", lastUsed)
        json.member("source", source.rawValue)
        json.member("rev", revision.number)
    }

    init(_ object: WireObject) throws(WireError) {
        name = try object.entityName()
        scope = try Scope.read(object)
        isDeleted = try object.bool("deleted")
        byteCount = try object.integer("bytes")
        accountedBytes = try object.integer("size")
        storedAt = try object.timestamp("stored_at")
        lastUsed = try object.integer("last_used")
        source = try object.required("source") { AnswerSource(rawValue: $0) }
        revision = try object.revision("rev")
    }

    /// The row alone.
    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.object { write(to: &$0) }
        return json.bytes
    }
}

/// One page of a list of entities.
package struct EntityPage: Equatable, ReportPage {
    package var items: [EntityListItem]
    /// What to give as `cursor` for the page after this one; nil on the last.
    package var next: String?

    package init(items: [EntityListItem], next: String?) {
        self.items = items
        self.next = next
    }

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
        for item in try object.objects("items") { items.append(try EntityListItem(item)) }
        next = try object.optionalString("next")
    }
}
