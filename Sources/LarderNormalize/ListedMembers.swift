/// The members that an entity and a list have in common: slots may show or hide them.
///
/// The search runs once for each pair of entity and list, for any number of slots.
struct ListedMembers {
    struct Row {
        /// The number in the list.
        let member: Int
        /// The place in the entity.
        let place: Int
    }

    private struct Pair: Hashable {
        let entity: Int
        let list: Int
    }

    private let skeleton: Skeleton
    private var rows: [Pair: [Row]] = [:]
    /// The members of lists by name.
    private var tables: [Int: [[UInt8]: Int]] = [:]

    init(_ skeleton: Skeleton) {
        self.skeleton = skeleton
    }

    /// Looks for the members of an entity that a list has.
    ///
    /// - Parameters:
    ///   - entity: A number that tells it from others.
    ///   - list: The number of the list.
    ///   - finder: That of the entity.
    /// - Returns: These members in the entity's order.
    mutating func members(
        of entity: Int,
        in list: Int,
        _ finder: inout MemberFinder
    ) -> [Row] {
        let pair = Pair(entity: entity, list: list)
        if let known = rows[pair] { return known }
        let found = find(in: list, &finder)
        rows[pair] = found
        return found
    }

    /// Goes through the list or through the entity, whichever is shorter.
    private mutating func find(in list: Int, _ finder: inout MemberFinder) -> [Row] {
        let members = skeleton.lists[list].members
        let body = finder.body
        var found: [Row] = []
        guard members.count > body.members.count else {
            for index in members {
                let name = skeleton.names[skeleton.memberNames[index]]
                let hint = found.last.map { $0.place + 1 } ?? 0
                guard let place = finder.place(of: name, of: skeleton.bytes, near: hint) else {
                    continue
                }
                found.append(Row(member: index - members.lowerBound, place: place))
            }
            found.sort { $0.place < $1.place }
            return found
        }
        let table = table(of: list)
        for (place, member) in body.members.enumerated() {
            guard let number = table[Array(body.bytes[member.name])] else { continue }
            found.append(Row(member: number, place: place))
        }
        return found
    }

    private mutating func table(of list: Int) -> [[UInt8]: Int] {
        if let table = tables[list] { return table }
        let members = skeleton.lists[list].members
        let table = Dictionary(
            members.map { index in
                let name = skeleton.names[skeleton.memberNames[index]]
                return (Array(skeleton.bytes[name]), index - members.lowerBound)
            },
            uniquingKeysWith: { first, _ in first }
        )
        tables[list] = table
        return table
    }
}

/// Finds the members of one entity by name, of few by looking, of many in a table.
///
/// It is kept as long as the entity is, as the table is made once.
struct MemberFinder {
    let body: EntityBody
    private var places: [[UInt8]: Int]?
    /// Of long values.
    private var digests: [Int: UInt64] = [:]

    private static let scannedMembersMax = 32

    init(_ body: EntityBody) {
        self.body = body
    }

    /// The place of the member of this name; it is looked for at `hint` first.
    ///
    /// `bytes` are those of the entity.
    mutating func place(
        of name: UnsafeRawBufferPointer,
        in bytes: UnsafeRawBufferPointer,
        near hint: Int
    ) -> Int? {
        let members = body.members
        if hint < members.count, bytes.hasBytes(members[hint].name, name) { return hint }
        guard members.count > Self.scannedMembersMax else {
            return members.firstIndex { bytes.hasBytes($0.name, name) }
        }
        if places == nil {
            places = Dictionary(
                members.indices.map { (Array(bytes[members[$0].name]), $0) },
                uniquingKeysWith: { first, _ in first }
            )
        }
        return places?[Array(name)]
    }

    /// The same for a name that takes `name` of `source`.
    mutating func place(of name: Range<Int>, of source: [UInt8], near hint: Int) -> Int? {
        let held = body.bytes
        return source.withUnsafeBytes { source in
            held.withUnsafeBytes { place(of: source.part(name), in: $0, near: hint) }
        }
    }

    /// Digest of a member's value, as exceptions store it; kept for a long value.
    mutating func digest(ofMember place: Int) -> UInt64 {
        if let known = digests[place] { return known }
        let member = body.members[place]
        let digest = body.bytes.withUnsafeBytes { member.digest(in: $0) }
        if member.value.count > Self.digestedBytesMax { digests[place] = digest }
        return digest
    }

    private static let digestedBytesMax = 256
}
