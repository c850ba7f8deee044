import CSchema

/// Which tables a file has and how an older one becomes the current one.
///
/// The numbered files under `schema/` are the source, and `CSchema` embeds them. `user_version`
/// says how many of them a file has taken.
struct Schema {
    /// `Lard`, so that `file` and a careful reader know whose database it is.
    static let applicationID: Int64 = 0x4C61_7264

    static let cacheSteps = texts(larder_cache_steps())
    static let stateSteps = texts(larder_state_steps())

    static let cache = Schema(steps: cacheSteps)
    static let state = Schema(steps: stateSteps)

    static let opening = "PRAGMA page_size=4096; PRAGMA auto_vacuum=INCREMENTAL"

    let steps: [String]

    private static func texts(_ embedded: larder_embedded) -> [String] {
        UnsafeRawBufferPointer(start: embedded.bytes, count: embedded.count).split(separator: 0)
            .map { String(decoding: $0, as: UTF8.self) }
    }

    enum Version: Equatable {
        case empty
        case known(Int)
        case newer(Int)
    }

    /// Throws `corrupt` for a file that is not of ours, or does not have the tables of its version.
    func version(of connection: SQLiteConnection) throws(StoreError) -> Version {
        // Both numbers are in the header, so they can be read even if a later version has other
        // tables.
        let version = Int(try connection.integer("PRAGMA user_version") ?? 0)
        let owner = try connection.integer("PRAGMA application_id")
        if owner == Self.applicationID, version > steps.count { return .newer(version) }
        let found = try Self.names(connection)
        if found.isEmpty, version == 0 { return .empty }
        guard owner == Self.applicationID, version > 0 else {
            throw .corrupt(file: connection.path, step: "recognise \(connection.path)")
        }
        let names = try at(version).names()
        let later = version < steps.count ? try self.names().subtracting(names) : []
        guard names.isSubset(of: found), later.isDisjoint(with: found) else {
            throw .corrupt(file: connection.path, step: "look for the tables of \(connection.path)")
        }
        return .known(version)
    }

    /// The version of a damaged file, and whether all of that version's tables exist.
    ///
    /// It is the version of the header, or a later one of which a table exists. If neither tells,
    /// it is the current one.
    func version(
        ofDamaged connection: SQLiteConnection
    ) throws(StoreError) -> (version: Int, isWhole: Bool) {
        let said = Int(try connection.integer("PRAGMA user_version") ?? 0)
        let found = try Self.names(connection)
        for version in (1...steps.count).reversed() {
            let names = try at(version).names()
            let added = names.subtracting(try at(version - 1).names())
            if version == said || !added.isDisjoint(with: found) {
                return (version, names.isSubset(of: found))
            }
        }
        return (steps.count, false)
    }

    func at(_ version: Int) -> Schema { Schema(steps: Array(steps.prefix(version))) }

    func makeModel() throws(StoreError) -> SQLiteConnection {
        let model = try SQLiteConnection(path: ":memory:", mode: .readWrite)
        try model.execute(Self.opening)
        for step in steps { try model.execute(step) }
        return model
    }

    private func names() throws(StoreError) -> Set<Substring> { try Self.names(makeModel()) }

    private static func names(_ connection: SQLiteConnection) throws(StoreError) -> Set<Substring> {
        let names = try connection.text(
            """
            SELECT group_concat(entry.type || ' ' || entry.name || ' ' || coalesce(part.name, ''), ',')
            FROM sqlite_schema AS entry LEFT JOIN pragma_table_info(entry.name) AS part
            WHERE entry.name NOT LIKE 'sqlite%'
            """
        )
        return Set((names ?? "").split(separator: ","))
    }

    /// Brings the file to the current version, all steps in one transaction.
    func migrate(_ connection: SQLiteConnection, from version: Int) throws(StoreError) {
        guard version < steps.count else { return }
        try connection.transaction { () throws(StoreError) in
            for step in steps[version...] { try connection.execute(step) }
            try connection.execute("PRAGMA application_id=\(Self.applicationID)")
            try connection.execute("PRAGMA user_version=\(steps.count)")
        }
    }
}
