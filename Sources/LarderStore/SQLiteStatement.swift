import CSQLite
import Glibc
import LarderModel

final class SQLiteStatement {
    let handle: OpaquePointer
    private unowned let connection: SQLiteConnection
    private let sql: String
    /// Nil for a statement that is finalized when it is let go.
    private let lent: LentStatement?
    /// The places of parameters by those of columns; 0 where none was bound by its column.
    private var places: [Int32] = []

    init(
        handle: OpaquePointer,
        connection: SQLiteConnection,
        sql: String,
        lent: LentStatement? = nil
    ) {
        self.handle = handle
        self.connection = connection
        self.sql = sql
        self.lent = lent
    }

    deinit {
        if let lent { lent.takeBack() } else { sqlite3_finalize(handle) }
    }

    func step() throws(StoreError) -> Bool {
        do throws(StoreError) {
            try connection.check(before: sql)
        } catch {
            // As where SQLite itself fails: a statement that stays in a row holds up a checkpoint.
            reset()
            throw error
        }
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code:
            let error = connection.error(code, step: sql)
            sqlite3_reset(handle)
            throw error
        }
    }

    func damaged() -> StoreError { connection.damaged(sql) }

    func bind<each Value: SQLiteValue>(_ values: repeat (String, each Value)) {
        for (name, value) in repeat each values { value.bind(to: self, at: parameter(name)) }
    }

    func bind(_ name: String, _ value: some SQLiteValue) {
        value.bind(to: self, at: parameter(name))
    }

    /// Binds the parameter that has the name of a column; its place is looked up once.
    func bind(_ column: some TableColumn, _ value: some SQLiteValue) {
        let index = Int(column.place)
        while places.count <= index { places.append(0) }
        if places[index] == 0 { places[index] = parameter(":" + column.name) }
        assert(places[index] == parameter(":" + column.name), "columns of one row")
        value.bind(to: self, at: places[index])
    }

    /// The place of a parameter; a missing one is our mistake.
    private func parameter(_ name: String) -> Int32 {
        let place = sqlite3_bind_parameter_index(handle, name)
        precondition(place > 0, "no parameter \(name) in \(sql)")
        return place
    }

    /// Runs a statement that answers no row, with parameters by their names, and resets it.
    ///
    /// Swift makes the type of a tuple at each run, so statements of each write bind by columns.
    func run<each Value: SQLiteValue>(_ values: repeat (String, each Value)) throws(StoreError) {
        bind(repeat each values)
        _ = try step()
        reset()
    }

    /// Makes it ready to run again; parameters keep their values.
    func reset() { sqlite3_reset(handle) }

    /// Takes the only column of a row, perhaps of its own, whatever its type, for its next run.
    func bind(_ name: String, of row: SQLiteStatement) {
        let value = sqlite3_value_dup(sqlite3_column_value(row.handle, 0))
        reset()
        sqlite3_bind_value(handle, parameter(name), value)
        sqlite3_value_free(value)
    }

    func bindAll(of row: SQLiteStatement) {
        for place in 0..<sqlite3_column_count(row.handle) {
            let name = String(cString: sqlite3_column_name(row.handle, place))
            sqlite3_bind_value(
                handle,
                parameter(":" + name),
                sqlite3_column_value(row.handle, place)
            )
        }
    }

    @inline(__always) func isNull(_ column: some SQLiteColumn) -> Bool {
        sqlite3_column_type(handle, column.place(in: self)) == SQLITE_NULL
    }

    @inline(__always) func integer(_ column: some SQLiteColumn) -> Int64 {
        sqlite3_column_int64(handle, column.place(in: self))
    }

    func integerOrNil(_ column: some SQLiteColumn) -> Int64? {
        isNull(column) ? nil : integer(column)
    }

    func isTrue(_ column: some SQLiteColumn) -> Bool { integer(column) != 0 }

    func text(_ column: some SQLiteColumn) -> String? {
        let place = column.place(in: self)
        guard let bytes = sqlite3_column_text(handle, place) else { return nil }
        let count = Int(sqlite3_column_bytes(handle, place))
        return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }

    /// The column's bytes where they lie, valid until the statement moves on or is reset.
    func bytes(_ column: some SQLiteColumn) -> UnsafeRawBufferPointer {
        let place = column.place(in: self)
        let base = sqlite3_column_blob(handle, place)
        return UnsafeRawBufferPointer(start: base, count: Int(sqlite3_column_bytes(handle, place)))
    }

    func bytesOrNil(_ column: some SQLiteColumn) -> [UInt8]? {
        isNull(column) ? nil : Array(bytes(column))
    }

    func digest<Column: SQLiteColumn>(_ high: Column, _ low: Column) -> Digest {
        Digest(high: UInt64(bitPattern: integer(high)), low: UInt64(bitPattern: integer(low)))
    }

    func entryID(_ column: some SQLiteColumn) -> EntryID? {
        text(column).flatMap { try? EntryID(stored: $0) }
    }

    func scope(_ column: some SQLiteColumn) -> Scope? { text(column).flatMap(Scope.init(text:)) }

    /// An interval at which an origin is asked again, in milliseconds; nil without one.
    func refreshTime(_ column: some SQLiteColumn) -> Duration? {
        integerOrNil(column).map {
            min(max(.milliseconds($0), Limits.minRefreshTimes.lowerBound), Limits.refreshTimeMax)
        }
    }

    /// Whether a column's text has the same bytes as `text`, without making a String of it.
    func isText(_ column: some SQLiteColumn, _ text: String) -> Bool {
        let place = column.place(in: self)
        guard let bytes = sqlite3_column_text(handle, place) else { return false }
        let count = Int(sqlite3_column_bytes(handle, place))
        guard text.utf8.count == count else { return false }
        var text = text
        return text.withUTF8 { utf8 in
            utf8.baseAddress.map { memcmp(bytes, $0, count) == 0 } ?? (count == 0)
        }
    }

    func readAll() {
        for place in 0..<sqlite3_column_count(handle) { _ = sqlite3_column_blob(handle, place) }
    }

    /// The place of a column by its name in SQL; a missing one is our mistake.
    func place(of name: String) -> Int32 {
        for place in 0..<sqlite3_column_count(handle)
        where sqlite3_column_name(handle, place).map({ strcmp($0, name) == 0 }) ?? false {
            return place
        }
        preconditionFailure("no column \(name) in \(sql)")
    }

    /// The column `size` as ``RowNumbers`` reads it, for sums, which stay within 64 bits by it.
    static let countedSize = counted("size")

    /// A column of bytes in the range of what a row may count.
    static func counted(_ column: String) -> String {
        let range = Limits.rowBytes
        return "max(\(range.lowerBound), min(CAST(\(column) AS INTEGER), \(range.upperBound)))"
    }

    /// The rows of a page whose number goes up from `last` on.
    ///
    /// Stale pages of a damaged file may lead back, and a loop over such rows would never end.
    func page<Row>(
        by number: some SQLiteColumn,
        after last: Int64,
        _ read: (SQLiteStatement) throws(StoreError) -> Row?
    ) throws(StoreError) -> [Row] {
        var last = last
        return try all { row throws(StoreError) in
            guard row.integer(number) > last else { throw row.damaged() }
            last = row.integer(number)
            return try read(row)
        }
    }

    /// The rows that it answers; one that cannot be read is left out.
    func all<Row>(
        atMost limit: Int = .max,
        _ read: (SQLiteStatement) throws(StoreError) -> Row?
    ) throws(StoreError) -> [Row] {
        defer { reset() }
        var rows: [Row] = []
        while rows.count < limit, try step() {
            if let row = try read(self) { rows.append(row) }
        }
        return rows
    }

    /// The first row; nil where it answers none, or one that cannot be read.
    func first<Row>(
        _ read: (SQLiteStatement) throws(StoreError) -> Row?
    ) throws(StoreError) -> Row? {
        defer { reset() }
        return try step() ? try read(self) : nil
    }

    /// In whose share a durable row counts: its user's, or where it is a shared row the payer's.
    var payer: UInt32? {
        scope("scope")?.uid ?? integerOrNil("payer").flatMap(UInt32.init(exactly:))
    }
}

/// A value that a statement can bind to a parameter.
///
/// A bind fails for a wrong place, which is our mistake, or for lack of memory.
protocol SQLiteValue {
    func bind(to statement: SQLiteStatement, at place: Int32)
}

extension SQLiteValue where Self: BinaryInteger {
    func bind(to statement: SQLiteStatement, at place: Int32) {
        sqlite3_bind_int64(statement.handle, place, Int64(self))
    }
}

extension Int64: SQLiteValue {}
extension Int: SQLiteValue {}

extension Bool: SQLiteValue {
    func bind(to statement: SQLiteStatement, at place: Int32) {
        Int64(self ? 1 : 0).bind(to: statement, at: place)
    }
}

extension String: SQLiteValue {
    func bind(to statement: SQLiteStatement, at place: Int32) {
        let count = UInt64(utf8.count)
        // A C string is never a null pointer, which SQLite would take for NULL.
        withCString { _ = larder_bind_text_copied(statement.handle, place, $0, count) }
    }
}

extension [UInt8]: SQLiteValue {
    func bind(to statement: SQLiteStatement, at place: Int32) {
        withUnsafeBytes { raw in
            if let base = raw.baseAddress {
                _ = larder_bind_blob_copied(statement.handle, place, base, UInt64(raw.count))
            } else {
                sqlite3_bind_zeroblob(statement.handle, place, 0)
            }
        }
    }
}

extension Optional: SQLiteValue where Wrapped: SQLiteValue {
    func bind(to statement: SQLiteStatement, at place: Int32) {
        if let self {
            self.bind(to: statement, at: place)
        } else {
            sqlite3_bind_null(statement.handle, place)
        }
    }
}

/// The statements that a writer runs again and again, prepared when its file is opened.
struct PreparedStatements<Name: PreparedStatement> {
    private let statements: [SQLiteStatement]

    init(_ connection: SQLiteConnection) throws(StoreError) {
        var statements: [SQLiteStatement] = []
        for name in Name.allCases { statements.append(try connection.prepare(name.sql)) }
        self.statements = statements
    }

    subscript(name: Name) -> SQLiteStatement { statements[name.rawValue] }

    func callAsFunction<each Value: SQLiteValue>(
        _ name: Name,
        _ values: repeat (String, each Value)
    ) -> SQLiteStatement {
        let statement = self[name]
        statement.bind(repeat each values)
        return statement
    }

    /// A statement whose parameters `:scope` and `:id` are those of a row.
    func callAsFunction(_ name: Name, of row: TargetName) -> SQLiteStatement {
        let statement = self[name]
        statement.bind(":scope", row.scope.text)
        statement.bind(":id", row.id.text)
        return statement
    }
}

/// The names of statements, numbered from 0.
protocol PreparedStatement: CaseIterable, RawRepresentable<Int> {
    var sql: String { get }
}
