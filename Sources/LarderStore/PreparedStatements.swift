/// The statements that a writer runs again and again, prepared when its file is opened.
struct PreparedStatements<Name: PreparedStatement> {
    private let statements: [SQLiteStatement]

    init(_ connection: SQLiteConnection) throws(StoreError) {
        var statements: [SQLiteStatement] = []
        for name in Name.allCases { statements.append(try connection.prepare(name.sql)) }
        self.statements = statements
    }

    subscript(name: Name) -> SQLiteStatement { statements[name.rawValue] }
}

/// The names of statements, numbered from 0.
protocol PreparedStatement: CaseIterable, RawRepresentable<Int> {
    var sql: String { get }
}
