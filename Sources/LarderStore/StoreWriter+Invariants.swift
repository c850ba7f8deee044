import LarderModel

extension StoreWriter {
    /// What is broken of the invariants of `StoreWriter+Rows.swift`, in words; for tests.
    ///
    /// It goes through all that is claimed.
    func brokenInvariants() throws(StoreError) -> [String] {
        var broken: [String] = []
        let index = shared.claims
        let rows = try state.reader.allRows()
        if rows.isEmpty != index.isEmpty { broken.append("4: the index has other ids") }
        let dead = try state.reader.deadTargets().map { ClaimKey(shared.key(for: $0.scope), $0.id) }
        let counts = Dictionary(dead.map { ($0, 1) }, uniquingKeysWith: +)
        if counts != index.deadLetters {
            broken.append("9: the index has other dead letters")
        }
        for row in rows {
            let name = TargetName(shared.key(for: row.scope), row.id)
            guard let place = index.place(name.scope, row.id) else {
                broken.append("4: \(row.id) is not claimed in memory")
                continue
            }
            if place.targets != row.targets || place.isPinned != row.isPinned {
                broken.append("4: \(row.id) is claimed otherwise in memory")
            }
            if place.isCopy != row.isShared { broken.append("4: \(row.id): is it a copy?") }
            guard !place.isBehind, shared.generation.hasFile else { continue }
            if let reason = try whyWronglyShown(name, place) {
                broken.append("\(reason): \(row.id)")
            }
        }
        return broken
    }

    private func whyWronglyShown(
        _ name: TargetName,
        _ place: ClaimIndex.Place
    ) throws(StoreError) -> String? {
        guard let saved = try state.find(name.scope, name.id),
            let shown = try cache.find(name.scope, name.id).row
        else { return nil }
        if place.isCopy { return name.id.isEntity ? nil : "a copy is shown" }
        guard saved.hasEntry else {
            return saved.isLeftToCache ? nil : "5: of an unknown target there is a row"
        }
        guard shown.kind == saved.kind, shown.digest == saved.digest,
            shown.byteCount == saved.byteCount
        else { return "2: other bytes are shown" }
        if place.targets == 0, shown.revision != saved.revision {
            return "2: it is shown as of \(shown.revision), and saved as of \(saved.revision)"
        }
        return nil
    }
}
