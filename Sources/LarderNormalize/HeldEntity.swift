package import LarderModel

/// What the store knows of an entity.
package enum HeldEntity: Sendable {
    /// Nothing: it was never seen, or evicted.
    case unknown
    /// The origin has said that it is gone.
    case deleted(EntityStamp)
    case present(EntityBody, EntityStamp)

    /// What it holds.
    package var byteCount: Int {
        if case .present(let body, _) = self { body.bytes.count } else { 0 }
    }

    /// What is known once a fetch of this number has heard that the origin has it no more; nil where
    /// one that set out later has told of it.
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
    /// What watchers are told of.
    package enum Change: Equatable, Sendable {
        case nothing
        /// It was unknown, or deleted.
        case created
        /// These members have another value than before, or have one now.
        case members([String])
    }

    package let key: EntityKey
    /// What it holds now.
    package let held: HeldEntity
    package let change: Change
    /// Whether anything of ``held`` is to be written, if only the number of the fetch.
    package let isWritten: Bool
    /// Whether the answer had it more than once, with different values; the last one counts.
    package let isContradicted: Bool
    /// What was held before, where it was not unknown.
    let before: EntityStamp?
    let fetch: Int64
}
