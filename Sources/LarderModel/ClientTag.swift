/// Name from a client's `Larder-Client` header, by which the client recognizes its own changes.
///
/// Tags of two users are never equal.
package struct ClientTag: Hashable, Sendable {
    package let uid: UInt32
    package let name: String

    /// Takes 1 to 64 visible ASCII characters; nil for what is none.
    package init?(uid: UInt32, name: String) {
        guard (1...Limits.clientNameBytesMax).contains(name.utf8.count),
            name.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        self.uid = uid
        self.name = name
    }

    /// The form in a row: `UID:NAME`.
    package var text: String { "\(uid):\(name)" }

    /// Reads ``text``; nil for what is none.
    package init?(text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let uid = Scope.uid(parts[0]) else { return nil }
        self.init(uid: uid, name: String(parts[1]))
    }
}
