import LarderModel

extension StoreWriter {
    /// What is broken of the invariants of ``EntryWriter``, in words; for tests.
    ///
    /// It goes through all that is durable.
    func brokenInvariants() throws(StoreError) -> [String] {
        var broken: [String] = []
        let index = shared.residency
        let rows = try state.reader.allRows()
        if rows.isEmpty != index.isEmpty { broken.append("4: the index has other ids") }
        let dead = try state.reader.deadTargets().map {
            ResidencyKey(shared.key(for: $0.scope), $0.id)
        }
        let counts = Dictionary(dead.map { ($0, 1) }, uniquingKeysWith: +)
        if counts != index.deadLetters {
            broken.append("9: the index has other dead letters")
        }
        let (sums, state) = (try state.memory, try state)
        let counted = try StateWriterState(reading: state.connection, pinsMaxBytes: 0)
        if counted.queue != sums.queue || counted.pins.bytes != sums.pins.bytes
            || counted.pins.users != sums.pins.users
        {
            broken.append("10: \(sums.queue) \(sums.pins), not \(counted.queue) \(counted.pins)")
        }
        for row in rows {
            let name = TargetName(shared.key(for: row.scope), row.id)
            guard let place = index.place(name.scope, row.id) else {
                broken.append("4: \(row.id) is not claimed in memory")
                continue
            }
            if place.keepsShared != row.keepsShared {
                broken.append("4: \(row.id) keeps the shared row otherwise in memory")
            }
            if row.scope == .shared {
                broken += try brokenKept(
                    row,
                    rows.filter { $0.keepsShared && $0.id == row.id },
                    place
                )
            } else if place.targets != row.targets || place.isPinned != row.isPinned {
                broken.append("4: \(row.id) is claimed otherwise in memory")
            }
            if row.keepsShared {
                if row.hasEntry || !row.isPinned && !row.isTargeted {
                    broken.append("7: \(row.id) keeps the shared row for nothing")
                }
                let isKept = try state.keepers.of(row.id).contains { $0.isTargeted || $0.isPin }
                if isKept, try state.rows.find(TargetName(index.sharedScope, row.id)) == nil {
                    broken.append("7: there is no shared row of \(row.id)")
                }
            }
        }
        return broken
    }

    private func brokenKept(
        _ row: ResidencyRow,
        _ keepers: [ResidencyRow],
        _ place: ResidencyIndex.Place
    ) throws(StoreError) -> [String] {
        let name = TargetName(shared.residency.sharedScope, row.id)
        guard let found = try state.rows.find(name) else { return [] }
        let known = try state.keepers.of(row.id)
        let isSaid =
            found.isTargeted == keepers.contains(where: \.isTargeted)
            && found.isPinned == known.contains(where: \.isPin)
            && (found.payer != nil || found.isReferredOnly)
        let isCounted = place.targets == keepers.reduce(0) { $0 + $1.targets }
        return isSaid && isCounted ? [] : ["7: \(row.id): what keeps the shared row?"]
    }
}
