import LarderModel

/// The values that modifiers have seen and found of their targets; they count in the sizes.
struct SeenRows {
    let state: StateWriter

    /// Stores what a modifier sees of a target now.
    func note(
        _ seen: SeenValues?,
        of id: EntryID,
        by number: ModifierNumber
    ) throws(StoreError) {
        guard let seen, let row = try state.modifiers.row(number) else { return }
        try counting(row) { () throws(StoreError) in try write(seen, of: id, by: number) }
    }

    /// Stores what a new modifier sees of its targets.
    func noteFirst(
        _ seen: [(id: EntryID, values: SeenValues)],
        by number: ModifierNumber,
        _ scope: ScopeKey
    ) throws(StoreError) {
        guard !seen.isEmpty else { return }
        let before = try seenSize(number)
        for one in seen { try write(one.values, of: one.id, by: number) }
        let bytes = try seenSize(number) - before
        guard bytes != 0 else { return }
        try state.queue[.grow].run((":number", number.value), (":bytes", bytes))
        if let uid = scope.scope.uid { state.memory.queue[uid].bytes += bytes }
    }

    private func write(
        _ seen: SeenValues,
        of id: EntryID,
        by number: ModifierNumber
    ) throws(StoreError) {
        try state.queue[.see].run(
            (":modifier", number.value),
            (":id", id.text),
            (":seen", seen.base),
            (":view", seen.view)
        )
    }

    /// Stores what was found at the targets of a modifier when it met another device's change.
    func note(_ theirs: [EntryID: [UInt8]], _ row: QueuedRow) throws(StoreError) {
        guard !theirs.isEmpty else { return }
        try counting(row) { () throws(StoreError) in
            for (id, bytes) in theirs.sorted(by: { $0.key.text < $1.key.text }) {
                try state.queue[.meet].run(
                    (":modifier", row.number.value),
                    (":id", id.text),
                    (":theirs", bytes)
                )
            }
        }
    }

    /// Changes what a modifier has seen and found of its targets, and its size with it.
    func counting(
        _ row: QueuedRow,
        _ change: () throws(StoreError) -> Void
    ) throws(StoreError) {
        let before = try seenSize(row.number)
        try change()
        let bytes = try seenSize(row.number) - before
        guard bytes != 0 else { return }
        try state.queue[.grow].run((":number", row.number.value), (":bytes", bytes))
        state.modifiers.count(bytes: bytes, of: row)
    }

    private func seenSize(_ number: ModifierNumber) throws(StoreError) -> Int64 {
        try state.queue(.seenSize, (":modifier", number.value)).first { $0.integer(.only) } ?? 0
    }
}

extension StateWriter {
    var seen: SeenRows { SeenRows(state: self) }
}
