import LarderModel

/// The values that modifiers have seen and found of their targets; they count in the sizes.
struct SeenRows {
    let state: StateWriter

    /// Stores the values that a modifier sees of its targets now.
    func note(
        _ seen: [(EntryID, SeenValues)],
        by number: ModifierNumber
    ) throws(StoreError) {
        guard !seen.isEmpty, let row = try state.modifiers.row(number) else { return }
        try counting(row) { () throws(StoreError) in
            for (id, values) in seen {
                try state.queue[.see].run(
                    (":modifier", number.value),
                    (":id", id.text),
                    (":seen", values.base),
                    (":view", values.view)
                )
            }
        }
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
