import LarderJSON
package import LarderModel

/// One pin as it travels: what of an entry is kept for good.
package struct PinItem: Equatable, Sendable {
    package var id: EntryID
    package var state: PinState
    /// Where it is fetched from; nil for a client's blob.
    package var origin: OriginName?
    /// The bytes of the body; nil while there are none.
    package var byteCount: Int?
    package var pinnedAt: Timestamp
    package var storedAt: Timestamp?
    package var revision: Revision?
    /// Why it is neither held nor waiting, or what came of asking for it just now; `problem` travels
    /// as a problem's type.
    package var trouble: PinTrouble?

    package init(
        id: EntryID,
        state: PinState,
        origin: OriginName?,
        byteCount: Int?,
        pinnedAt: Timestamp,
        storedAt: Timestamp?,
        revision: Revision?,
        trouble: PinTrouble?
    ) {
        self.id = id
        self.state = state
        self.origin = origin
        self.byteCount = byteCount
        self.pinnedAt = pinnedAt
        self.storedAt = storedAt
        self.revision = revision
        self.trouble = trouble
    }

    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.object { write(to: &$0) }
        return json.bytes
    }

    package init(decoding bytes: [UInt8]) throws(WireError) {
        try self.init(WireObject(parsing: bytes))
    }

    fileprivate func write(to json: inout JSONWriter) {
        json.member("id", id.text)
        json.member("state", state.text)
        json.member("origin", origin?.text)
        json.member("bytes", byteCount)
        json.member("pinned_at", pinnedAt.rfc3339)
        json.member("stored_at", storedAt?.rfc3339)
        json.member("rev", revision?.number)
        json.member("problem", trouble.map { "urn:larder:\($0.problem)" })
        json.member("reason", trouble?.reason)
    }

    fileprivate init(_ object: WireObject) throws(WireError) {
        id = try object.id("id")
        state = try object.required("state") { PinState(text: $0) }
        origin = try object.optional("origin") { try? OriginName($0) }
        byteCount = try object.optionalInteger("bytes")
        pinnedAt = try object.timestamp("pinned_at")
        storedAt = try object.optionalTimestamp("stored_at")
        let number: Int64? = try object.optionalInteger("rev")
        if let number { revision = Revision(number) }
        let problem = try object.optional("problem") { type in
            type.hasPrefix("urn:larder:") ? String(type.dropFirst("urn:larder:".count)) : nil
        }
        let reason = try object.optionalString("reason")
        trouble = problem.map { PinTrouble(problem: $0, reason: reason ?? "") }
    }
}

extension PinState {
    package var text: String {
        switch self {
        case .held: "held"
        case .waiting: "waiting"
        case .tooLarge: "too-large"
        case .gone: "gone"
        case .failed: "failed"
        }
    }

    package init?(text: String) {
        guard let state = Self.allCases.first(where: { $0.text == text }) else { return nil }
        self = state
    }
}

/// One page of pins.
package struct PinPage: Equatable, ReportPage {
    package var items: [PinItem]
    /// What to give as `cursor` for the page after this one; nil on the last.
    package var next: String?

    package init(items: [PinItem], next: String?) {
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
        for item in try object.objects("items") { items.append(try PinItem(item)) }
        next = try object.optionalString("next")
    }
}
