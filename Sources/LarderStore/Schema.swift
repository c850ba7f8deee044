/// Which tables a file has and how an older one becomes the current one.
///
/// The numbered files under `schema/` are the source, carried by the generated part of this type;
/// `user_version` says how many of them a file has taken.
struct Schema {
    /// `Lard`, so that `file` and a careful reader know whose database it is.
    static let applicationID: Int64 = 0x4C61_7264

    static let cache = Schema(steps: cacheSteps, opening: opening)
    static let state = Schema(steps: stateSteps, opening: opening)

    private static let opening = "PRAGMA page_size=4096; PRAGMA auto_vacuum=INCREMENTAL"

    /// The SQL that leads from version n to n + 1.
    let steps: [String]
    /// What must be said before the first table.
    let opening: String

    /// What the file is, told without a change to it.
    enum Version: Equatable {
        case empty
        case known(Int)
        case newer(Int)
    }

    func version(of connection: SQLiteConnection) throws(StoreError) -> Version {
        let version = Int(try connection.integer("PRAGMA user_version") ?? 0)
        let tables = try connection.integer("SELECT count(*) FROM sqlite_schema") ?? 0
        if tables == 0, version == 0 { return .empty }
        let owner = try connection.integer("PRAGMA application_id")
        guard owner == Self.applicationID else {
            throw .corrupt(file: connection.path, step: "recognise \(connection.path)")
        }
        return version > steps.count ? .newer(version) : .known(version)
    }

    /// Throws `corrupt` unless every table, column and index of the current version is there.
    func check(_ connection: SQLiteConnection) throws(StoreError) {
        let model = try SQLiteConnection(path: ":memory:", mode: .readWrite)
        for step in steps { try model.execute(step) }
        guard try Self.names(model).isSubset(of: Self.names(connection)) else {
            throw .corrupt(file: connection.path, step: "look for the tables")
        }
    }

    /// What the tables, their columns and their indexes are called.
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
        try connection.execute("BEGIN IMMEDIATE")
        do throws(StoreError) {
            for step in steps[version...] {
                try connection.execute(step)
            }
            try connection.execute("PRAGMA application_id=\(Self.applicationID)")
            try connection.execute("PRAGMA user_version=\(steps.count)")
            try connection.execute("COMMIT")
        } catch {
            connection.rollBack()
            throw error
        }
    }
}
