package import LarderModel

/// The changes that a watcher wants to hear of.
package struct WatchInterest: Equatable, Sendable {
    package var ids: Set<EntryID>
    package var prefixes: [String]
    package var kinds: Set<WatchKind>
    /// Entities whose own URLs are among the ids; a modifier of such an entity is told under its
    /// key.
    package var written: Set<EntryID> = []

    /// Without ids and prefixes the interest covers every entry.
    package init(
        ids: Set<EntryID> = [],
        prefixes: [String] = [],
        kinds: Set<WatchKind> = Set(WatchKind.allCases)
    ) {
        self.ids = ids
        self.prefixes = prefixes
        self.kinds = kinds
    }

    package func covers(_ change: Change) -> Bool {
        switch change.event {
        case .put(let id, _): kinds.contains(.put) && covers(id)
        case .delete(let id, _): kinds.contains(.delete) && covers(id)
        case .evict(let id, _, _): kinds.contains(.evict) && covers(id)
        case .remapped(let id, let real):
            kinds.contains(.remapped) && (covers(id) || covers(real))
        case .modifier(let modifier):
            kinds.contains(.modifier)
                && (isEverything
                    || modifier.targets.contains { covers($0) || written.contains($0) })
        }
    }

    package func covers(_ id: EntryID) -> Bool {
        isEverything || ids.contains(id) || prefixes.contains { id.text.utf8.starts(with: $0.utf8) }
    }

    private var isEverything: Bool { ids.isEmpty && prefixes.isEmpty }
}
