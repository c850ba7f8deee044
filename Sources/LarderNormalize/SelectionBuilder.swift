/// The selection tree of one answer while it is being split, and the layouts of its entities.
///
/// See ``Skeleton`` for what the words mean; numbers here are in the order of first appearance.
struct SelectionBuilder: Sendable {
    /// The step to the elements of a list: its positions are folded.
    static let anyPosition = -1
    private static let comparedLayoutsMax = 8

    struct Node: Sendable {
        var children: [Int: Int] = [:]
        /// The steps of `children` in the order of their appearance.
        var steps: [Int] = []
        var lists: [Int] = []
    }

    struct List: Sendable {
        let type: Int
        /// The names of the members, and the nodes of their values; -1 if no entity was in the
        /// value.
        var names: [Int] = []
        var nodes: [Int] = []
        var index: [Int: Int] = [:]
        /// The shape that fitted last.
        var shape = -1
    }

    struct Shape: Sendable {
        let list: Int
        /// The members of the list in the order of this layout; a name may come twice.
        let positions: [Int]
        /// The index in `layouts`.
        let layout: Int
    }

    /// The bytes between the values of an entity's members, with names and punctuation.
    ///
    /// There is one piece before each value and one after the last.
    struct Layout: Sendable {
        let pieces: [Range<Int>]
        let names: [Int]
        /// Whether a name is repeated.
        let hasRepeats: Bool
    }

    private(set) var nodes = [Node()]
    private(set) var lists: [List] = []
    private(set) var shapes: [Shape] = []
    private(set) var layouts: [Layout] = []
    /// The bytes of all pieces.
    private(set) var text: [UInt8] = []
    private(set) var names = NumberedRows()
    private(set) var types = NumberedRows()

    private var layoutNumbers: [UInt64: [Int]] = [:]
    private var shapeNumbers: [ListLayout: Int] = [:]

    private var listNumbers: [NodeType: Int] = [:]

    private struct NodeType: Hashable {
        let node: Int
        let type: Int
    }

    private struct ListLayout: Hashable {
        let list: Int
        let layout: Int
    }

    mutating func name(_ name: [UInt8]) -> Int { names.number(name) }

    mutating func type(_ type: [UInt8]) -> Int { types.number(type) }

    /// The node of a member's value, or of the elements of a list, below a node.
    mutating func child(of node: Int, _ step: Int) -> Int {
        if let child = nodes[node].children[step] { return child }
        let child = addNode()
        nodes[node].children[step] = child
        nodes[node].steps.append(step)
        return child
    }

    mutating func node(of member: Int, in list: Int) -> Int {
        if lists[list].nodes[member] < 0 { lists[list].nodes[member] = addNode() }
        return lists[list].nodes[member]
    }

    private mutating func addNode() -> Int {
        nodes.append(Node())
        return nodes.count - 1
    }

    mutating func list(_ type: Int, at node: Int) -> Int {
        let key = NodeType(node: node, type: type)
        if let list = listNumbers[key] { return list }
        listNumbers[key] = lists.count
        lists.append(List(type: type))
        nodes[node].lists.append(lists.count - 1)
        return lists.count - 1
    }
}

/// Distinct rows, numbered in order.
struct NumberedRows: Sendable {
    private(set) var rows: [[UInt8]] = []
    private var numbers: [[UInt8]: Int] = [:]

    mutating func number(_ row: [UInt8]) -> Int {
        if let number = numbers[row] { return number }
        numbers[row] = rows.count
        rows.append(row)
        return rows.count - 1
    }
}

extension SelectionBuilder {
    /// The shape of an object in a list; its members become members of the list.
    mutating func shape(
        of object: Int,
        in list: Int,
        _ tape: JSONTape,
        _ bytes: UnsafeRawBufferPointer
    ) -> Int {
        let last = lists[list].shape
        if last >= 0, fits(layouts[shapes[last].layout], object, tape, bytes) { return last }
        let layout = layout(of: object, tape, bytes)
        let key = ListLayout(list: list, layout: layout)
        if let shape = shapeNumbers[key] {
            lists[list].shape = shape
            return shape
        }
        let positions = layouts[layout].names.map { member($0, of: list) }
        shapes.append(Shape(list: list, positions: positions, layout: layout))
        shapeNumbers[key] = shapes.count - 1
        lists[list].shape = shapes.count - 1
        return shapes.count - 1
    }

    private mutating func member(_ name: Int, of list: Int) -> Int {
        if let member = lists[list].index[name] { return member }
        let member = lists[list].names.count
        lists[list].index[name] = member
        lists[list].names.append(name)
        lists[list].nodes.append(-1)
        return member
    }

    /// Calls `body` with each piece of the object's layout, until it returns false.
    private func forEachPiece(
        of object: Int,
        _ tape: JSONTape,
        _ body: (Range<Int>) -> Bool
    ) {
        var start = Int(tape.items[object].start)
        var position = object + 1
        let end = tape.items[object].next
        while position < end {
            let item = tape.items[position]
            guard body(start..<Int(item.start)) else { return }
            start = Int(item.end)
            position = item.next
        }
        _ = body(start..<Int(tape.items[object].end))
    }

    private func fits(
        _ layout: Layout,
        _ object: Int,
        _ tape: JSONTape,
        _ bytes: UnsafeRawBufferPointer
    ) -> Bool {
        var count = 0
        var isSame = true
        text.withUnsafeBytes { text in
            forEachPiece(of: object, tape) { piece in
                isSame =
                    count < layout.pieces.count
                    && bytes.hasBytes(piece, text.part(layout.pieces[count]))
                count += 1
                return isSame
            }
        }
        return isSame && count == layout.pieces.count
    }

    private mutating func layout(
        of object: Int,
        _ tape: JSONTape,
        _ bytes: UnsafeRawBufferPointer
    ) -> Int {
        var digest: UInt64 = 0
        forEachPiece(of: object, tape) { piece in
            digest = Digest.of(bytes.part(piece), seed: digest)
            return true
        }
        // Different texts with the same digest can be forged. So only as many are compared as can
        // happen by chance.
        let known = layoutNumbers[digest, default: []].suffix(Self.comparedLayoutsMax)
        if let layout = known.first(where: { fits(layouts[$0], object, tape, bytes) }) {
            return layout
        }
        var pieces: [Range<Int>] = []
        forEachPiece(of: object, tape) { piece in
            pieces.append(piece)
            return true
        }
        for index in pieces.indices {
            let start = text.count
            text.append(contentsOf: bytes[pieces[index]])
            pieces[index] = start..<text.count
        }
        let names = tape.children(of: object).map { name(tape.name(of: $0, in: bytes)) }
        let hasRepeats = Set(names).count < names.count
        layouts.append(Layout(pieces: pieces, names: names, hasRepeats: hasRepeats))
        layoutNumbers[digest, default: []].append(layouts.count - 1)
        return layouts.count - 1
    }
}
