/// The members of a list that a shape leaves out, found by name.
struct AbsentMembers {
    private let skeleton: Skeleton
    /// The members of lists by name, for lists with many.
    private var tables: [Int: [[UInt8]: Int]] = [:]

    private static let scannedMembersMax = 32

    init(_ skeleton: Skeleton) {
        self.skeleton = skeleton
    }

    /// The members of an entity that a shape's list has and the shape has not: their numbers in the
    /// list and their places in the entity.
    mutating func members(
        of body: EntityBody,
        beside shape: Skeleton.Shape
    ) -> [(member: Int, place: Int)] {
        let shown = Set(skeleton.positions[shape.positions])
        var absent: [(member: Int, place: Int)] = []
        for place in body.members.indices {
            let member = body.bytes.withUnsafeBytes { held in
                self.member(held.part(body.members[place].name), of: shape.list)
            }
            if let member, !shown.contains(member) { absent.append((member, place)) }
        }
        return absent
    }

    private mutating func member(_ name: UnsafeRawBufferPointer, of number: Int) -> Int? {
        let list = skeleton.lists[number]
        guard list.members.count > Self.scannedMembersMax else {
            return skeleton.bytes.withUnsafeBytes { names in
                list.members.firstIndex {
                    names.hasBytes(skeleton.names[skeleton.memberNames[$0]], name)
                }
            }
            .map { $0 - list.members.lowerBound }
        }
        if let table = tables[number] { return table[Array(name)] }
        let table = Dictionary(
            list.members.map { index in
                let name = skeleton.names[skeleton.memberNames[index]]
                return (Array(skeleton.bytes[name]), index - list.members.lowerBound)
            },
            uniquingKeysWith: { first, _ in first }
        )
        tables[number] = table
        return table[Array(name)]
    }
}
