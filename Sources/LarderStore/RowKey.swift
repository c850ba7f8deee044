package import LarderModel

/// A scope with what its ids are hashed with, computed once for a connection.
package struct ScopeKey: Hashable, Sendable {
    package let scope: Scope
    /// The scope as it stands in rows.
    package let text: String
    let seed: UInt64
    /// The bits of a hash that are used, without those of the slot.
    fileprivate let mask: UInt64

    /// `hashMask` says which bits of a hash are used: all, but in a test of collisions.
    init(_ scope: Scope, seed: UInt64, hashMask: UInt64 = .max) {
        self.scope = scope
        text = scope.text
        self.seed = Checksum.keyed(scope.text, seed: seed)
        mask = hashMask & ~UInt64(RowKey.slots - 1)
    }
}

/// Where an entry's row stands: 60 bits of a keyed hash of scope and id, and 4 bits of slot.
///
/// Up to 16 ids with one hash stand side by side. A reader goes through the slots and compares
/// scope and id, so a collision costs a step and never gives another id's data.
struct RowKey: Hashable, Sendable {
    let number: Int64

    static let slots: Int64 = 16

    init(_ number: Int64) {
        self.number = number
    }

    /// The first slot of an id.
    init(_ scope: ScopeKey, _ id: EntryID) {
        let hash = Checksum.keyed(id.text, seed: scope.seed)
        number = Int64(bitPattern: hash & scope.mask)
    }

    /// The first slot of the same hash.
    var first: RowKey { RowKey(number & ~(Self.slots - 1)) }
    /// The last slot of the same hash.
    var last: RowKey { RowKey(number | (Self.slots - 1)) }
}
