import LarderClient
import LarderModel

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

struct Column<Item> {
    let name: String
    let alignsRight: Bool
    let text: (Item) -> String

    init(_ name: String, alignsRight: Bool = false, _ text: @escaping (Item) -> String) {
        self.name = name
        self.alignsRight = alignsRight
        self.text = text
    }
}

extension Console {
    /// Prints a list while its items come, and returns their number.
    ///
    /// With `asJSON`, the items are as the daemon sent them. In a pipe, tabs separate their fields.
    /// On a terminal, each page is a table.
    func list<Item>(
        _ items: Pages<Item>,
        upTo most: Int? = nil,
        asJSON: Bool,
        fields: (Item) -> [String],
        columns: [Column<Item>],
        where isShown: (Item) -> Bool = { _ in true }
    ) async throws -> Int {
        var count = 0
        var page: [Item] = []
        let sent = SentReports()
        var rest = items.makeAsyncIterator()
        while let item = try await sent.noting({ try await rest.next() }) {
            let json = asJSON ? try sent.nextItem() : nil
            guard isShown(item) else { continue }
            count += 1
            if let json {
                try write(line: json)
            } else if isTerminalOut {
                page.append(item)
                if page.count == Limits.pageRowsMax {
                    try table(page, columns)
                    page = []
                }
            } else {
                try self.columns(fields(item))
            }
            if count == most { break }
        }
        try table(page, columns)
        return count
    }

    /// Prints a table with a line of names above it; nothing where there are no items.
    func table<Item>(_ items: [Item], _ columns: [Column<Item>]) throws(CommandFailure) {
        guard !items.isEmpty else { return }
        var table = Table(alignsRight: columns.map(\.alignsRight))
        table.add(columns.map(\.name))
        for item in items { table.add(columns.map { $0.text(item) }) }
        try lines(table.lines)
    }

    func lines(_ lines: [TerminalText]) throws(CommandFailure) {
        for line in lines { try self.line(line) }
    }
}
