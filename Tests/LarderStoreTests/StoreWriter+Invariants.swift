import LarderModel

@testable import LarderStore

extension StoreWriter {
    /// What is broken of the invariants of ``EntryWriter``, in words.
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
        let counted = try StateWriterState(reading: state.connection)
        if counted.queue != sums.queue || counted.pins.bytes != sums.pins.bytes
            || counted.pins.users != sums.pins.users
        {
            broken.append("10: \(sums.queue) \(sums.pins), not \(counted.queue) \(counted.pins)")
        }
        for row in rows {
            let id = row.name.id
            guard let place = index.place(row.name.scope, id) else {
                broken.append("4: \(id) is not claimed in memory")
                continue
            }
            if place.keepsShared != row.keepsShared {
                broken.append("4: \(id) keeps the shared row otherwise in memory")
            }
            if row.name.scope.scope == .shared {
                broken += try brokenKept(
                    row,
                    rows.filter { $0.keepsShared && $0.name.id == id },
                    place
                )
            } else if place.targets != row.targets || place.isPinned != row.isPinned {
                broken.append("4: \(id) is claimed otherwise in memory")
            }
            if row.keepsShared {
                if row.hasEntry || !row.isPinned && !row.isTargeted {
                    broken.append("7: \(id) keeps the shared row for nothing")
                }
                let isKept = try state.keepers.of(id).contains { $0.isTargeted || $0.isKeepingPin }
                if isKept, try state.rows.find(shared.sharedName(id)) == nil {
                    broken.append("7: there is no shared row of \(id)")
                }
            }
        }
        return broken
    }

    private func brokenKept(
        _ row: DurableRow,
        _ keepers: [DurableRow],
        _ place: ResidencyIndex.RowLocation
    ) throws(StoreError) -> [String] {
        guard let found = try state.rows.find(row.name) else { return [] }
        let known = try state.keepers.of(row.name.id)
        let isSaid =
            found.isTargeted == keepers.contains(where: \.isTargeted)
            && found.isPinned == known.contains(where: \.isKeepingPin)
            && (found.payer != nil || found.isReferredOnly)
        let isCounted = place.targets == keepers.reduce(0) { $0 + $1.targets }
        return isSaid && isCounted ? [] : ["7: \(row.name.id): what keeps the shared row?"]
    }
}
