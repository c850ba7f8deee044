/// Rows whose columns stand below each other.
struct Table {
    /// Whether a column's texts end below each other, as numbers do.
    let alignsRight: [Bool]
    private var rows: [[TerminalText]] = []

    init(alignsRight: [Bool]) {
        self.alignsRight = alignsRight
    }

    mutating func add(_ row: String...) {
        add(row)
    }

    mutating func add(_ row: [String]) {
        rows.append(row.map { TerminalText($0) })
    }

    /// Adds a name and a text that may have colours.
    mutating func add(_ name: TerminalText, shown text: TerminalText) {
        rows.append([name, text])
    }

    /// The lines, with two spaces between columns; the last column is not filled up.
    var lines: [TerminalText] {
        let widths = alignsRight.indices.map { column in
            rows.map { $0[column].text.count }.max() ?? 0
        }
        return rows.map { row in
            var line: TerminalText = ""
            for (column, cell) in row.enumerated() {
                let gap = String(repeating: " ", count: widths[column] - cell.text.count)
                if column > 0 { line = "\(line)  " }
                if alignsRight[column] {
                    line = "\(line)\(gap)\(cell)"
                } else {
                    line = column == row.count - 1 ? "\(line)\(cell)" : "\(line)\(cell)\(gap)"
                }
            }
            return line
        }
    }
}
