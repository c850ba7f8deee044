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
