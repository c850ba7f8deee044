import LarderModel

/// The queue of a `state.db`, read without a ``Store``: for a daemon that is about to be removed.
package enum UnsentModifiers {
    /// Hands each modifier that the origin has not confirmed to `use`, in the order of acceptance,
    /// dead letters included.
    ///
    /// The result is the number of modifiers that cannot be read. A missing file has none. The file
    /// is not migrated: one of another version is an error.
    package static func read(
        inStateDirectory directory: String,
        _ use: (WholeModifier) -> Void
    ) throws(StoreError) -> Int {
        let path = StateFile.database(in: directory, nil).path
        let file = DatabaseFile(path: path, schema: .state, synchronous: "FULL", faults: nil)
        guard path.isThere else { return 0 }
        let connection = try file.openReader(cacheBytes: Limits.statePageCacheBytes)
        let known = file.schema.steps.count
        switch try file.schema.version(of: connection) {
        case .known(known): break
        case .empty: return 0
        case .known(let found):
            let reason = "it has version \(found) and was not migrated to version \(known)"
            throw .cannotOpen(path: path, reason: reason)
        case .newer(let found): throw file.newer(found)
        }
        // All reads see one commit, also while a daemon runs.
        try connection.execute("BEGIN")
        defer { connection.rollBack() }
        var unreadable = 0
        let numbers = try connection.statement("SELECT number FROM modifier ORDER BY number")
            .all { row in ModifierNumber(row.integer(.only)) }
        for number in numbers {
            guard let whole = try connection.modifier(number),
                whole.changes.count == whole.modifier.changeCount
            else {
                unreadable += 1
                continue
            }
            if !whole.modifier.isAnswered { use(whole) }
        }
        return unreadable
    }
}
