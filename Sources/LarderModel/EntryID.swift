/// The text an entry is found by; for a fetched one the URL as ``WebURL`` spells it.
///
/// Two ids are the same when their bytes are, as in the database.
package struct EntryID: Sendable, CustomStringConvertible {
    package let text: String

    package var description: String { text }

    /// Takes 1 to 8,192 bytes of UTF-8 without control characters (U+0000 to U+001F, U+007F).
    package init(_ text: String) throws(ModelError) {
        let utf8 = text.utf8
        guard !utf8.isEmpty else { throw .badID("it is empty") }
        guard utf8.count <= Limits.idBytesMax else {
            throw .badID("it has \(utf8.count) bytes, at most \(Limits.idBytesMax) are taken")
        }
        guard !utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw .badID("it contains a control character")
        }
        self.text = text
    }

    /// The id under which an answer to `url` is kept.
    package init(_ url: WebURL) throws(ModelError) {
        try self.init(url.text)
    }
}

extension EntryID: Hashable {
    package static func == (left: EntryID, right: EntryID) -> Bool {
        left.text.hasSameBytes(as: right.text)
    }

    package func hash(into hasher: inout Hasher) {
        text.hashBytes(into: &hasher)
    }
}
