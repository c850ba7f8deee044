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
        }
        return broken
    }
}
