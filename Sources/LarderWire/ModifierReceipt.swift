import LarderJSON
package import LarderModel

/// What accepting a modifier is answered with.
package struct ModifierReceipt: Equatable, Sendable {
    package var id: ModifierID
    package var state: ModifierState
    package var revision: Revision
    /// Of one that had been accepted before, and is settled.
    package var settledAt: Timestamp?

    package init(id: ModifierID, state: ModifierState, revision: Revision) {
        self.id = id
        self.state = state
        self.revision = revision
    }

    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.object { write(to: &$0) }
        return json.bytes
    }

    /// Several, in the order in which they were given: the member `modifiers`.
    package static func encoded(_ receipts: [ModifierReceipt]) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.name("modifiers")
            json.beginArray()
            for receipt in receipts { json.object { receipt.write(to: &$0) } }
            json.endArray()
        }
        return json.bytes
    }

    package init(decoding bytes: [UInt8]) throws(WireError) {
        try self.init(WireObject(parsing: bytes))
    }

    package static func list(decoding bytes: [UInt8]) throws(WireError) -> [ModifierReceipt] {
        var receipts: [ModifierReceipt] = []
        for object in try WireObject(parsing: bytes).objects("modifiers") {
            receipts.append(try ModifierReceipt(object))
        }
        return receipts
    }

    private func write(to json: inout JSONWriter) {
        json.member("id", id.text)
        json.member("state", state.rawValue)
        json.member("rev", revision.number)
        if let settledAt { json.member("settled_at", settledAt.rfc3339) }
    }

    private init(_ object: WireObject) throws(WireError) {
        self.init(
            id: try object.required("id") { try? ModifierID($0) },
            state: try object.required("state") { ModifierState(rawValue: $0) },
            revision: try object.revision("rev")
        )
        settledAt = try object.optionalTimestamp("settled_at")
    }
}
