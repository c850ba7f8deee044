/// Writes a selection tree as a skeleton, with equal nodes, lists and shapes stored once.
///
/// So a map with a thousand keys takes little more space than a map with one.
struct SkeletonWriter {
    private let selection: SelectionBuilder
    private var nodes = Table()
    private var lists = Table()
    private var shapes = Table()
    /// The numbers in the skeleton of the selection's nodes and lists.
    private var nodeNumbers: [Int]
    private var listNumbers: [Int]
    /// The same for its shapes.
    private(set) var shapeNumbers: [Int]

    /// Distinct rows, numbered in order.
    private struct Table {
        private(set) var rows: [[UInt8]] = []
        private var numbers: [[UInt8]: Int] = [:]

        mutating func number(_ row: [UInt8]) -> Int {
            if let number = numbers[row] { return number }
            numbers[row] = rows.count
            rows.append(row)
            return rows.count - 1
        }
    }

    init(_ selection: SelectionBuilder) {
        self.selection = selection
        nodeNumbers = Array(repeating: 0, count: selection.nodes.count)
        listNumbers = Array(repeating: 0, count: selection.lists.count)
        shapeNumbers = []
        // Children have higher numbers than their node, so this loop goes from the leaves to the
        // root.
        for node in selection.nodes.indices.reversed() { add(node: node) }
        shapeNumbers = selection.shapes.map { add($0) }
    }

    private mutating func add(node number: Int) {
        let node = selection.nodes[number]
        for list in node.lists { add(list: list) }
        var row: [UInt8] = []
        row.append(number: node.steps.count)
        for step in node.steps {
            row.append(number: step + 1)
            row.append(number: nodeNumbers[node.children[step] ?? 0])
        }
        row.append(number: node.lists.count)
        for list in node.lists { row.append(number: listNumbers[list]) }
        nodeNumbers[number] = nodes.number(row)
    }

    private mutating func add(list number: Int) {
        let list = selection.lists[number]
        var row: [UInt8] = []
        row.append(number: list.type)
        row.append(number: list.names.count)
        for (name, node) in zip(list.names, list.nodes) {
            row.append(number: name)
            row.append(number: node < 0 ? 0 : nodeNumbers[node] + 1)
        }
        listNumbers[number] = lists.number(row)
    }

    private mutating func add(_ shape: SelectionBuilder.Shape) -> Int {
        let layout = selection.layouts[shape.layout]
        var row: [UInt8] = []
        row.append(number: listNumbers[shape.list])
        row.append(number: shape.positions.count)
        for position in shape.positions { row.append(number: position) }
        for piece in layout.pieces {
            row.append(number: piece.count)
            row += selection.text[piece]
        }
        return shapes.number(row)
    }

    /// The stored form.
    func written() -> [UInt8] {
        var form = FormWriter(.skeleton, capacity: 1_024)
        for texts in [selection.types, selection.names] {
            form.number(texts.count)
            for text in texts { form.data(text) }
        }
        for table in [lists, nodes, shapes] {
            form.number(table.rows.count)
            for row in table.rows { form.raw(row) }
        }
        return form.finished()
    }
}
