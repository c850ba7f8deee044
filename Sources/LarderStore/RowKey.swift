package import LarderModel

/// A scope with what its ids are hashed with, computed once for a connection.
package struct ScopeKey: Hashable, Sendable {
    package let scope: Scope
    package let text: String
    let seed: UInt64
    fileprivate let mask: UInt64

    /// `hashMask` says which bits of a hash are used: all, but in a test of collisions.
    init(_ scope: Scope, seed: UInt64, hashMask: UInt64 = .max) {
        self.scope = scope
        text = scope.text
        self.seed = Checksum.keyed(scope.text, seed: seed)
        mask = hashMask & RowKey.bits
    }
}

/// Where an entry's row stands in `cache.db`: a keyed hash of scope and id, which a reader compares
/// with the row's.
///
/// The second of two ids with one hash has no row: among ten million entries there is such a pair
/// in one of 20,000 caches.
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
