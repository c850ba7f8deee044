package import LarderModel
package import LarderNormalize

/// The last thing that the server, or a client of its own blob, said an id is.
package enum TargetBase: Sendable {
    case unknown
    /// It is deleted; the entry says with which status.
    case deleted(Entry)
    /// Its bytes are there if they are one JSON text; others are not read.
    case value(Entry, [UInt8]?)
    /// It is an entity, which may be deleted.
    case entity(Entry, HeldEntity)

    init(_ entry: Entry, _ bytes: [UInt8]?) {
        let isDeleted = entry.kind == .tombstone
        if entry.id.isEntity, let bytes {
            let held = try? HeldEntity(stored: bytes, isDeleted: isDeleted)
            self = held.map { .entity(entry, $0) } ?? .unknown
        } else {
            self = isDeleted ? .deleted(entry) : .value(entry, entry.body.isJSON ? bytes : nil)
        }
    }

    package var isHTML: Bool {
        guard case .value(let entry, _) = self else { return false }
        return entry.mediaType?.lowercased().hasPrefix("text/html") ?? false
    }

    package var held: HeldEntity { if case .entity(_, let held) = self { held } else { .unknown } }
}

/// Keeps an answer that set out before a write from undoing it (P-06).
package struct AnswerFence: Sendable {
    /// Whether something was written to an id that the answer may not know of yet: then nothing of it is
    /// stored there.
    ///
    /// Asked for every answer, on the writer's thread, so it must be quick.
    package let covers: @Sendable (ScopeKey, EntryID) -> Bool
    /// Hears that something of the answer was not stored; called there, too, once or more often.
    package let keptOut: @Sendable () -> Void

    package init(
        covers: @escaping @Sendable (ScopeKey, EntryID) -> Bool,
        keptOut: @escaping @Sendable () -> Void
    ) {
        self.covers = covers
        self.keptOut = keptOut
    }

    /// Whether nothing is to be stored under an id, which is told.
    func keepsOut(_ scope: ScopeKey, _ id: EntryID) -> Bool {
        guard covers(scope, id) else { return false }
        keptOut()
        return true
    }
}
