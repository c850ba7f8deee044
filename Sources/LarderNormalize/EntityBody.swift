package import LarderJSON
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
        guard hasReferences else { return JSONBrackets.depth(of: bytes.part(value)) }
        var nesting = JSONBrackets()
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

/// Result of showing an entity.
enum EntityPresence {
    case shown
    case deleted
    case evicted(EntityKey)
    case tooLarge
}

extension RebuildOutput {
    /// Writes the replacement of an entity that cannot be shown.
    ///
    /// The result is for the value that contains the entity: it goes on, is deleted too, or cannot
    /// be shown either.
    mutating func settle(
        _ standing: EntityPresence,
        of key: EntityKey,
        _ rules: EntityRules,
        isPartial: Bool
    ) -> EntityPresence {
        switch standing {
        case .shown, .tooLarge: return standing
        case .evicted:
            guard isPartial else { return standing }
            appendMissing(nullInPlace: true)
            return .shown
        case .deleted:
            guard isAtMember else {
                dropElement()
                return .shown
            }
            switch rules.deletionRule(of: key) {
            case .null: appendNull()
            case .omit: dropMember()
            case .cascade: return .deleted
            }
            return .shown
        }
    }
}

extension EntityRules {
    /// Rule for the place of a deleted entity of this key's type.
    fileprivate func deletionRule(of key: EntityKey) -> DeletionRule {
        types.isEmpty ? .null : types[Array(key.type.utf8)]?.onDeleted ?? .null
    }
}

/// Version and fetch of an entity's state.
package struct EntityStamp: Equatable, Sendable {
    /// Version that the version rule found in the entity; nil without such a rule.
    package let version: EntityVersion?
    /// The number that the last applied fetch took when it started.
    package let fetch: Int64

    package init(version: EntityVersion?, fetch: Int64) {
        self.version = version
        self.fetch = fetch
    }

    /// Whether an answer of this version and fetch comes too late to overwrite the state.
    ///
    /// Versions that are equal, or that cannot be compared, leave the decision to the fetch
    /// numbers.
    func isAhead(of version: EntityVersion?, fetch: Int64) -> Bool {
        if let held = self.version, let version {
            if version.isLess(than: held) == true { return true }
            if held.isLess(than: version) == true { return false }
        }
        return fetch < self.fetch
    }
}

/// A version as an origin gives it: a number, or a text that sorts, such as a time of RFC 3339.
package enum EntityVersion: Equatable, Sendable {
    case number(JSONNumber)
    case text(String)

    /// Reads a version; nil for a value that is not a version.
    package init?(_ value: JSONValue) {
        switch value {
        case .number(let number): self = .number(number)
        case .string(let text): self = .text(text)
        case .null, .bool, .array, .object: return nil
        }
    }

    package var value: JSONValue {
        switch self {
        case .number(let number): .number(number)
        case .text(let text): .string(text)
        }
    }

    /// Whether this version is lower; nil if the two cannot be compared.
    func isLess(than other: EntityVersion) -> Bool? {
        switch (self, other) {
        case (.number(let left), .number(let right)): left.isLess(than: right)
        case (.text(let left), .text(let right)):
            left.utf8.lexicographicallyPrecedes(right.utf8)
        case (.number, .text), (.text, .number): nil
        }
    }
}

/// A hash of 64 bits that is the same in every run: for checks and comparisons, not for trust.
///
/// Source: the multiply-and-fold step of wyhash, https://github.com/wangyi-fudan/wyhash.
enum Digest {
    private static let factor: UInt64 = 0xA076_1D64_78BD_642F
    private static let other: UInt64 = 0xE703_7ED1_A0B4_28DB

    static func of(_ bytes: UnsafeRawBufferPointer, seed: UInt64 = 0) -> UInt64 {
        var digest = folded(seed ^ other, UInt64(bytes.count) ^ factor)
        var position = 0
        if bytes.count >= 64 {
            // Two at a time, as neither waits for the other's product.
            var twin = digest ^ factor
            while position + 16 <= bytes.count {
                let first = word(bytes, position)
                let second = word(bytes, position + 8)
                digest = folded(digest ^ first, factor) &+ first
                twin = folded(twin ^ second, other) &+ second
                position += 16
            }
            digest = folded(digest ^ other, twin ^ factor) &+ twin
        }
        while position + 8 <= bytes.count {
            let word = word(bytes, position)
            digest = folded(digest ^ word, factor) &+ word
            position += 8
        }
        var rest: UInt64 = 0
        while position < bytes.count {
            rest = rest << 8 | UInt64(bytes[position])
            position += 1
        }
        digest = folded(digest ^ rest, factor) &+ rest
        return folded(digest ^ factor, other)
    }

    @inline(__always)
    private static func word(_ bytes: UnsafeRawBufferPointer, _ position: Int) -> UInt64 {
        bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self).littleEndian
    }

    @inline(__always)
    private static func folded(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}
