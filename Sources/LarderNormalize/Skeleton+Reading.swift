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
