/// Shape of an answer: where its entities are, and which members were seen there in which layout.
///
/// Answers of the same shape share one skeleton.
///
/// # Terms
///
/// - *node*: a place of the selection tree. A step leads from it to the value of a member, or to
///   the elements of a list: all elements share one step. An embedded value has nodes only if an
///   entity is in it.
/// - *list*: the members that entities of one type were seen with at a node, each with the node of
///   its value.
/// - *shape*: a layout of the members of a list: their order, and the bytes between their values,
///   with names, punctuation and white space. Entities of a shape do not have the members of the
///   list that the shape leaves out.
///
/// The tree is finite for any references of the entities: a rebuild never leaves it.
///
/// # Stored form
///
/// ```
/// types   n × text              names   n × text
/// lists   n × (type, n × (name, node + 1 or 0))
/// nodes   n × (n × (name + 1 or 0, node), n × list)     the last one is the root
/// shapes  n × (list, n × member, n + 1 × piece)
/// ```
///
/// Each row refers only to rows before it, so that the tree cannot lead back into itself.
package final class Skeleton: Sendable {
    struct Node: Sendable {
        let children: Range<Int>
        let lists: Range<Int>
    }

    struct List: Sendable {
        let type: Int
        /// Of `memberNames` and `memberNodes`.
        let members: Range<Int>
    }

    struct Shape: Sendable {
        let list: Int
        /// Range in `positions`; its pieces start at `firstPiece` and are one more.
        let positions: Range<Int>
        let firstPiece: Int
        /// Whether it has each member of its list.
        let hasAll: Bool
    }

    /// The stored form.
    package let bytes: [UInt8]
    let types: [Range<Int>]
    let names: [Range<Int>]
    let lists: [List]
    let memberNames: [Int]
    /// -1 where no entity was seen in the value.
    let memberNodes: [Int]
    let nodes: [Node]
    /// -1 for the elements of a list.
    let steps: [Int]
    let children: [Int]
    let nodeLists: [Int]
    let shapes: [Shape]
    /// The members of the shape's list, counted from its first.
    let positions: [Int]
    /// Whether the member comes later in the same shape again.
    let isRepeated: [Bool]
    let pieces: [Range<Int>]

    /// Reads the stored form.
    package init(_ bytes: [UInt8]) throws(NormalizeError) {
        var reading = SkeletonReading()
        try bytes.withFormBytes { (buffer) throws(NormalizeError) in try reading.all(buffer) }
        self.bytes = bytes
        types = reading.types
        names = reading.names
        lists = reading.lists
        memberNames = reading.memberNames
        memberNodes = reading.memberNodes
        nodes = reading.nodes
        steps = reading.steps
        children = reading.children
        nodeLists = reading.nodeLists
        shapes = reading.shapes
        positions = reading.positions
        isRepeated = reading.isRepeated
        pieces = reading.pieces
    }
}

extension Skeleton {
    /// The node of the whole answer.
    var root: Int { nodes.count - 1 }

    /// The members that entities of a type were seen with at a place, for watchers and `explain`.
    package func memberNames(ofList list: Int) -> [String]? {
        guard lists.indices.contains(list) else { return nil }
        return lists[list].members.map {
            String(decoding: bytes[names[memberNames[$0]]], as: UTF8.self)
        }
    }
}

/// The tables of a skeleton while it is read.
struct SkeletonReading {
    var types: [Range<Int>] = []
    var names: [Range<Int>] = []
    var lists: [Skeleton.List] = []
    var memberNames: [Int] = []
    var memberNodes: [Int] = []
    var nodes: [Skeleton.Node] = []
    var steps: [Int] = []
    var children: [Int] = []
    var nodeLists: [Int] = []
    var shapes: [Skeleton.Shape] = []
    var positions: [Int] = []
    var isRepeated: [Bool] = []
    var pieces: [Range<Int>] = []

    mutating func all(_ bytes: UnsafeRawBufferPointer) throws(NormalizeError) {
        var reader = try FormReader(.skeleton, bytes)
        types = try Self.texts(&reader)
        names = try Self.texts(&reader)
        try readLists(&reader)
        try readNodes(&reader)
        try readShapes(&reader, bytes)
        try reader.finish()
    }

    private static func texts(_ reader: inout FormReader) throws(NormalizeError) -> [Range<Int>] {
        let count = try reader.count()
        var texts: [Range<Int>] = []
        texts.reserveCapacity(count)
        for _ in 0..<count { texts.append(try reader.data()) }
        return texts
    }

    private mutating func readLists(_ reader: inout FormReader) throws(NormalizeError) {
        for _ in 0..<(try reader.count()) {
            let type = try reader.number(below: types.count)
            let first = memberNames.count
            for _ in 0..<(try reader.count()) {
                memberNames.append(try reader.number(below: names.count))
                memberNodes.append(try reader.number() - 1)
            }
            lists.append(Skeleton.List(type: type, members: first..<memberNames.count))
        }
    }

    private mutating func readNodes(_ reader: inout FormReader) throws(NormalizeError) {
        let count = try reader.count()
        guard count > 0 else { throw reader.fail() }
        guard memberNodes.allSatisfy({ $0 < count }) else { throw reader.fail() }
        // The highest node that a list leads to.
        let reach = lists.map { memberNodes[$0.members].max() ?? -1 }
        // The last node that has a step, counted from 1.
        var seen = Array(repeating: 0, count: names.count + 1)
        for number in 0..<count {
            let firstChild = children.count
            for _ in 0..<(try reader.count()) {
                let step = try reader.number(below: names.count + 1)
                guard seen[step] <= number else { throw reader.fail() }
                seen[step] = number + 1
                steps.append(step - 1)
                children.append(try reader.number(below: number))
            }
            let firstList = nodeLists.count
            for _ in 0..<(try reader.count()) {
                let list = try reader.number(below: lists.count)
                guard reach[list] < number else { throw reader.fail() }
                nodeLists.append(list)
            }
            nodes.append(
                Skeleton.Node(
                    children: firstChild..<children.count,
                    lists: firstList..<nodeLists.count
                )
            )
        }
    }

    private mutating func readShapes(
        _ reader: inout FormReader,
        _ bytes: UnsafeRawBufferPointer
    ) throws(NormalizeError) {
        // The last shape in which a member of a list was seen, counted from 1.
        var seen = Array(repeating: 0, count: lists.map(\.members.count).max() ?? 0)
        for number in 1..<(try reader.count()) + 1 {
            let list = try reader.number(below: lists.count)
            let count = try reader.count()
            let first = positions.count
            for _ in 0..<count {
                positions.append(try reader.number(below: lists[list].members.count))
            }
            isRepeated.append(contentsOf: repeatElement(false, count: count))
            var distinct = 0
            for index in (first..<positions.count).reversed() {
                isRepeated[index] = seen[positions[index]] == number
                seen[positions[index]] = number
                distinct += isRepeated[index] ? 0 : 1
            }
            let firstPiece = pieces.count
            for _ in 0...count { pieces.append(try reader.data()) }
            // The search for the start of an omitted entity needs its opening brace.
            guard bytes[pieces[firstPiece]].first == UInt8(ascii: "{") else { throw reader.fail() }
            shapes.append(
                Skeleton.Shape(
                    list: list,
                    positions: first..<positions.count,
                    firstPiece: firstPiece,
                    hasAll: distinct == lists[list].members.count
                )
            )
        }
    }
}

extension [UInt8] {
    /// `withUnsafeBytes` for a body with a typed error.
    func withFormBytes<Result>(
        _ body: (UnsafeRawBufferPointer) throws(NormalizeError) -> Result
    ) throws(NormalizeError) -> Result {
        try withUnsafeBufferPointer { (buffer) throws(NormalizeError) -> Result in
            try body(UnsafeRawBufferPointer(buffer))
        }
    }
}

/// Search for the members of an entity that an answer shows, from one entity down to the next.
extension Skeleton {
    package func list(_ list: Int, hasAnyOf members: Set<[UInt8]>) -> Bool {
        guard lists.indices.contains(list) else { return false }
        return lists[list].members.contains { members.contains(name(ofMember: $0)) }
    }

    /// Finds where an answer shows an entity that another entity refers to.
    ///
    /// - Parameters:
    ///   - members: The members in which the other entity refers to it.
    ///   - list: The list that shows the other entity.
    ///   - type: The type of the entity.
    /// - Returns: Whether the list has one of the members, the lists that show the entity in them,
    ///   and the steps of the search. A place where no entity was seen has no list: it shows `{}`.
    package func places(
        in members: [[UInt8]],
        of list: Int,
        type: [UInt8]
    ) -> (isListed: Bool, lists: Set<Int>, steps: Int) {
        guard lists.indices.contains(list) else { return (false, [], 1) }
        var isListed = false
        var found: Set<Int> = []
        // Equal nodes are stored once, so the search visits each once.
        var known: Set<Int> = []
        for member in lists[list].members where members.contains(name(ofMember: member)) {
            isListed = true
            if memberNodes[member] >= 0 {
                addLists(of: type, within: memberNodes[member], to: &found, &known)
            }
        }
        return (isListed, found, 1 + known.count + found.count)
    }

    private func name(ofMember member: Int) -> [UInt8] {
        Array(bytes[names[memberNames[member]]])
    }

    /// Adds the lists that show an entity of a type within a value.
    ///
    /// At each place these are the lists of its type, or else all lists.
    private func addLists(
        of type: [UInt8],
        within node: Int,
        to found: inout Set<Int>,
        _ known: inout Set<Int>
    ) {
        var waiting = [node]
        while let node = waiting.popLast() {
            guard known.insert(node).inserted else { continue }
            let here = nodeLists[nodes[node].lists]
            let ofType = here.filter { bytes[types[lists[$0].type]].elementsEqual(type) }
            found.formUnion(ofType.isEmpty ? Array(here) : ofType)
            waiting += children[nodes[node].children]
        }
    }
}

/// Writes a selection tree as a skeleton, with equal nodes, lists and shapes stored once.
///
/// So a map with a thousand keys takes little more space than a map with one.
struct SkeletonWriter {
    private let selection: SelectionBuilder
    private var nodes = NumberedRows()
    private var lists = NumberedRows()
    private var shapes = NumberedRows()
    /// The numbers in the skeleton of the selection's nodes and lists.
    private var nodeNumbers: [Int]
    private var listNumbers: [Int]
    /// The same for its shapes.
    private(set) var shapeNumbers: [Int]

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
            form.number(texts.rows.count)
            for text in texts.rows { form.data(text) }
        }
        for table in [lists, nodes, shapes] {
            form.number(table.rows.count)
            for row in table.rows { form.raw(row) }
        }
        return form.finished()
    }
}
