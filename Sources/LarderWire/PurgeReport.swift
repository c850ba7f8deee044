import LarderJSON

/// What `POST /v1/purge` answers: how much of a user went.
package struct PurgeReport: Equatable, Sendable {
    /// Entries and entities, pinned ones among them.
    package var entries = 0
    /// Their accounted size.
    package var bytes: Int64 = 0
    /// Writes: those that were still to be sent, and dead letters.
    package var modifiers = 0

    package init() {}
}

extension PurgeReport {
    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("entries", entries)
            json.member("bytes", bytes)
            json.member("modifiers", modifiers)
        }
        return json.bytes
    }

    package init(decoding bytes: [UInt8]) throws(WireError) {
        let object = try WireObject(parsing: bytes)
        entries = try object.integer("entries")
        self.bytes = try object.integer("bytes")
        modifiers = try object.integer("modifiers")
    }
}
