package import LarderModel

/// State of an entity in the store.
package enum HeldEntity: Sendable {
    /// Nothing: it was never seen, or evicted.
    case unknown
    /// The origin has deleted the entity.
    case deleted(EntityStamp)
    case present(EntityBody, EntityStamp)

    /// Bytes of the body.
    package var byteCount: Int {
        if case .present(let body, _) = self { body.bytes.count } else { 0 }
    }

    /// The state after the fetch of this number found that the origin deleted the entity.
    ///
    /// Returns nil if a fetch that started later has already said something about it.
    package func deleted(byFetch fetch: Int64) -> HeldEntity? {
        switch self {
        case .unknown: return .deleted(EntityStamp(version: nil, fetch: fetch))
        case .deleted(let stamp), .present(_, let stamp):
            guard fetch >= stamp.fetch else { return nil }
            return .deleted(EntityStamp(version: nil, fetch: fetch))
        }
    }
}

/// An entity after an answer has been merged into it.
package struct MergedEntity: Sendable {
    /// Change of an entity, as watchers receive it.
    package enum Change: Equatable, Sendable {
        case nothing
        /// The entity was unknown or deleted before.
        case created
        /// These members have another value than before, or have one now.
        case members([String])
    }

    package let key: EntityKey
    /// State of the entity after the merge.
    package let held: HeldEntity
    package let change: Change
    /// Whether anything of ``held`` is to be written, if only the number of the fetch.
    package let isWritten: Bool
    /// Whether the answer had it more than once, with different values; the last one counts.
    package let isContradicted: Bool
    /// Stamp before the merge; nil if the entity was unknown.
    let before: EntityStamp?
    let fetch: Int64
    /// The members that stay as they were, whatever the answer has.
    var kept = TouchedMembers.none
}
