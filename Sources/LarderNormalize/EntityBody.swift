import LarderModel

/// Members of an entity, each with its value as JSON bytes from which other entities are cut out.
///
/// # Stored form
///
/// ```
/// members  n × (name, value), depth
/// value    2 × length + 1 if it has references, bytes
/// bytes    the JSON as it came; with references: text, n × (key, text)
/// ```
///
/// Names are stored without escapes.
///
/// References are stored outside of the JSON. So no member that a server sends can be mistaken for
/// one.
///
/// A member keeps its bytes until it gets another value. So digests can use the bytes as the value.
///
/// The depth is that of the deepest value. A reference adds nothing to it.
package struct EntityBody: Sendable {
    struct Member: Sendable {
        /// Offsets into the stored form.
        let name: Range<Int>
        let value: Range<Int>
        let hasReferences: Bool
    }

    /// The stored form.
    package let bytes: [UInt8]
    let members: [Member]
    /// Nesting depth of arrays and objects in the values.
    let depth: Int

    /// Reads the stored form.
    package init(_ bytes: [UInt8]) throws(NormalizeError) {
        self.bytes = bytes
        (members, depth) = try bytes.withFormBytes {
            (buffer) throws(NormalizeError) -> ([Member], Int) in
            var reader = try FormReader(.entity, buffer)
            let count = try reader.count()
            var members: [Member] = []
            members.reserveCapacity(count)
            for _ in 0..<count {
                let name = try reader.data()
                let number = try reader.number()
                let value = try reader.range(number >> 1)
                let hasReferences = number & 1 == 1
                if hasReferences { try Self.check(value, of: buffer, reader) }
                members.append(Member(name: name, value: value, hasReferences: hasReferences))
            }
            let depth = try reader.number()
            try reader.finish()
            return (members, depth)
        }
    }

    /// Completes a form that was written up to the last of these members.
    init(_ form: consuming FormWriter, _ members: [Member]) {
        let depth = form.bytes.withUnsafeBytes { bytes in
            members.reduce(0) { max($0, $1.depth(in: bytes)) }
        }
        form.number(depth)
        bytes = form.finished()
        self.members = members
        self.depth = depth
    }

    private static func check(
        _ value: Range<Int>,
        of bytes: UnsafeRawBufferPointer,
        _ reader: FormReader
    ) throws(NormalizeError) {
        var parts = ReferenceText(value)
        while true {
            switch parts.next(in: bytes) {
            case .text, .reference: continue
            case .end: return
            case .damage: throw reader.fail()
            }
        }
    }

    /// The names of the members, in the order in which they were first seen.
    package var memberNames: [String] {
        members.map { String(decoding: bytes[$0.name], as: UTF8.self) }
    }
}

extension EntityBody.Member {
    fileprivate func depth(in bytes: UnsafeRawBufferPointer) -> Int {
        guard hasReferences else { return NestingDepth.of(bytes.part(value)) }
        var nesting = NestingDepth()
        var parts = ReferenceText(value)
        while true {
            switch parts.next(in: bytes) {
            case .text(let text): nesting.add(bytes.part(text))
            case .reference: continue
            case .end, .damage: return nesting.depth
            }
        }
    }
}
