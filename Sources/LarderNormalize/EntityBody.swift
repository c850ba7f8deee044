import LarderModel

/// What an entity holds: its members, each with its value as bytes of JSON in which entities are
/// cut out.
///
/// # Stored form
///
/// ```
/// members  n × (name, value), depth
/// value    2 × length + 1 if it has references, bytes
/// bytes    the JSON as it came; with references: text, n × (key, text)
/// ```
///
/// Names are what they say, without escapes; references stand outside of the JSON, so that no
/// member of a server's can be mistaken for one. A member's bytes stay what they are until the
/// member has another value, so that they stand for the value in digests. The depth is that of the
/// deepest value, in which a reference has none.
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
    /// How deep arrays and objects stand within each other in its values.
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

    /// What was written to a form up to the last of these members.
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
        var parts = CutParts(value)
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
        var parts = CutParts(value)
        while true {
            switch parts.next(in: bytes) {
            case .text(let text): nesting.add(bytes.part(text))
            case .reference: continue
            case .end, .damage: return nesting.depth
            }
        }
    }
}
