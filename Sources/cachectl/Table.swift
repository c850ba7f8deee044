/// Rows whose columns stand below each other.
struct Table {
    /// Whether a column's texts end below each other, as numbers do.
    let alignsRight: [Bool]
    private var rows: [[String]] = []

    init(alignsRight: [Bool]) {
        self.alignsRight = alignsRight
    }

    mutating func add(_ row: String...) {
        add(row)
    }

    mutating func add(_ row: [String]) {
        rows.append(row)
    }

    /// The lines, with two spaces between columns; the last column is not filled up.
    var lines: [String] {
        let widths = alignsRight.indices.map { column in
            rows.map { $0[column].count }.max() ?? 0
        }
        return rows.map { row in
            row.indices.map { column in
                let gap = String(repeating: " ", count: widths[column] - row[column].count)
                if alignsRight[column] { return gap + row[column] }
                return column == row.count - 1 ? row[column] : row[column] + gap
            }.joined(separator: "  ")
        }
    }
}
