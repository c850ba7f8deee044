package import LarderModel

/// A scope with what its ids are hashed with, computed once for a connection.
package struct ScopeKey: Hashable, Sendable {
    package let scope: Scope
    /// The scope as it stands in rows.
    package let text: String
    let seed: UInt64
    /// The bits of a hash that are used.
    fileprivate let mask: UInt64

    /// `hashMask` says which bits of a hash are used: all, but in a test of collisions.
    init(_ scope: Scope, seed: UInt64, hashMask: UInt64 = .max) {
        self.scope = scope
        text = scope.text
        self.seed = Checksum.keyed(scope.text, seed: seed)
        mask = hashMask & RowKey.bits
    }
}

/// Where an entry's row stands in `cache.db`: a keyed hash of scope and id.
///
/// A reader compares scope and id with the row's, so that a collision never gives another id's data.
/// The second of two ids with one hash has no row: among ten million entries such a pair is to be
/// expected once in 20,000 caches.
struct RowKey: Hashable, Sendable {
    let number: Int64

    /// All but the last four, which have numbered the rows with one hash.
    fileprivate static let bits = ~UInt64(15)

    init(_ number: Int64) {
        self.number = number
    }

    init(_ scope: ScopeKey, _ id: EntryID) {
        let hash = Checksum.keyed(id.text, seed: scope.seed)
        number = Int64(bitPattern: hash & scope.mask)
    }
}
