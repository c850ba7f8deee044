import LarderModel

/// Reads the numbers of a row, each within its range, as a disk can hold anything: what lies out of
/// it is taken for its nearer end, and is damage of the row.
struct RowNumbers {
    private let row: SQLiteStatement
    private(set) var areSound = true

    init(_ row: SQLiteStatement) { self.row = row }

    mutating func number(_ column: some SQLiteColumn, in range: ClosedRange<Int64>) -> Int64 {
        let number = row.integer(column)
        if !range.contains(number) { areSound = false }
        return number.clamped(to: range)
    }

    mutating func count(_ column: some SQLiteColumn) -> Int {
        Int(number(column, in: Limits.rowCounts))
    }

    mutating func countOrNil(_ column: some SQLiteColumn) -> Int? {
        row.isNull(column) ? nil : count(column)
    }

    mutating func statusOrNil(_ column: some SQLiteColumn) -> Int? {
        row.isNull(column) ? nil : Int(number(column, in: Limits.rowStatuses))
    }

    mutating func size(_ column: some SQLiteColumn) -> Int64 { number(column, in: Limits.rowBytes) }

    mutating func byteCount(_ column: some SQLiteColumn) -> Int {
        let range = Limits.chunkedBodyBytes
        return Int(number(column, in: Int64(range.lowerBound)...Int64(range.upperBound)))
    }

    mutating func revision(_ column: some SQLiteColumn) -> Revision {
        Revision(number(column, in: Limits.rowRevisions))
    }

    mutating func moment(_ column: some SQLiteColumn) -> Timestamp {
        Timestamp(milliseconds: number(column, in: Limits.rowMoments))
    }

    mutating func momentOrNil(_ column: some SQLiteColumn) -> Timestamp? {
        row.isNull(column) ? nil : moment(column)
    }
}
