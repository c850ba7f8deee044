/// Writes a stored form: kind and version, a check of the rest, the rest.
struct FormWriter {
    /// The version of all forms; what has another number is not read.
    static let version: UInt8 = 1
    /// Kind and version, and four bytes of the digest of what follows.
    static let headBytes = 5

    private(set) var bytes: [UInt8]

    init(_ form: StoredForm, capacity: Int = 256) {
        bytes = []
        bytes.reserveCapacity(capacity)
        bytes.append(form.rawValue << 4 | Self.version)
        bytes.append(contentsOf: repeatElement(0, count: Self.headBytes - 1))
    }

    var count: Int { bytes.count }

    mutating func number(_ number: Int) {
        bytes.append(number: number)
    }

    mutating func digest(_ digest: UInt64) {
        for shift in stride(from: UInt64(0), to: 64, by: 8) {
            bytes.append(UInt8(truncatingIfNeeded: digest >> shift))
        }
    }

    /// Bytes whose number is written elsewhere.
    mutating func raw(_ data: some Collection<UInt8>) {
        bytes.append(contentsOf: data)
    }

    mutating func raw(_ data: UnsafeRawBufferPointer) {
        bytes.append(contentsOf: data)
    }

    /// Appends the number of bytes, then the bytes.
    mutating func data(_ data: UnsafeRawBufferPointer) {
        number(data.count)
        bytes.append(contentsOf: data)
    }

    mutating func data(_ data: [UInt8]) {
        number(data.count)
        bytes.append(contentsOf: data)
    }

    /// Writes a member of an entity; see ``EntityBody`` for its form.
    mutating func member(
        _ name: UnsafeRawBufferPointer,
        _ value: UnsafeRawBufferPointer,
        hasReferences: Bool
    ) -> EntityBody.Member {
        data(name)
        let nameEnd = count
        number(value.count << 1 | (hasReferences ? 1 : 0))
        raw(value)
        return EntityBody.Member(
            name: nameEnd - name.count..<nameEnd,
            value: count - value.count..<count,
            hasReferences: hasReferences
        )
    }

    /// The whole form.
    consuming func finished() -> [UInt8] {
        let check = bytes.withUnsafeBytes { Self.check($0) }
        for index in 0..<4 {
            bytes[1 + index] = UInt8(truncatingIfNeeded: check >> (8 * UInt32(index)))
        }
        return bytes
    }

    /// Checksum of the form, stored in bytes 1 to 4.
    static func check(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        let rest = UnsafeRawBufferPointer(rebasing: bytes[headBytes...])
        return UInt32(truncatingIfNeeded: Digest.of(rest, seed: UInt64(bytes[0])) >> 16)
    }
}

extension [UInt8] {
    /// Appends a number from 0 on in groups of seven bits, the low ones first, all but the last with
    /// the high bit set (LEB128).
    mutating func append(number: Int) {
        precondition(number >= 0)
        var rest = UInt(number)
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(truncatingIfNeeded: rest))
    }
}

extension UnsafeRawBufferPointer {
    /// Reads a LEB128 number of at most `bits` bits and moves `position` to the byte after it.
    ///
    /// Returns nil if no such number ends before `end`.
    @inline(__always)
    func number(at position: inout Int, before end: Int, bits: Int = 35) -> Int? {
        var number = 0
        var shift = 0
        while position < end, shift < bits {
            let byte = self[position]
            position += 1
            number |= Int(byte & 0x7F) << shift
            guard byte >= 0x80 else { return number }
            shift += 7
        }
        return nil
    }
}

/// Reads the bytes of ``FormWriter``, and throws for any other bytes.
struct FormReader {
    private let form: StoredForm
    private let bytes: UnsafeRawBufferPointer
    private(set) var position: Int
    private let end: Int

    /// Reads the head and its checksum; the memory of `bytes` must outlive the reader.
    init(_ form: StoredForm, _ bytes: UnsafeRawBufferPointer) throws(NormalizeError) {
        self.form = form
        self.bytes = bytes
        position = FormWriter.headBytes
        end = bytes.count
        guard bytes.count >= FormWriter.headBytes, bytes[0] >> 4 == form.rawValue else {
            throw .damaged(form, at: 0)
        }
        guard bytes[0] & 15 == FormWriter.version else { throw .otherVersion(form) }
        let check = FormWriter.check(bytes)
        guard (0..<4).allSatisfy({ bytes[1 + $0] == UInt8(truncatingIfNeeded: check >> (8 * $0)) })
        else { throw .damaged(form, at: 1) }
    }

    func fail() -> NormalizeError { .damaged(form, at: position) }

    mutating func number() throws(NormalizeError) -> Int {
        guard let number = bytes.number(at: &position, before: end) else { throw fail() }
        return number
    }

    mutating func number(below bound: Int) throws(NormalizeError) -> Int {
        let number = try number()
        guard number < bound else { throw fail() }
        return number
    }

    /// Reads a count of items that take at least one byte each, so that a false one is found.
    mutating func count() throws(NormalizeError) -> Int {
        let count = try number()
        guard count <= end - position else { throw fail() }
        return count
    }

    mutating func digest() throws(NormalizeError) -> UInt64 {
        guard end - position >= 8 else { throw fail() }
        defer { position += 8 }
        return bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self).littleEndian
    }

    /// Skips `count` bytes and returns their range.
    mutating func range(_ count: Int) throws(NormalizeError) -> Range<Int> {
        guard count <= end - position else { throw fail() }
        defer { position += count }
        return position..<position + count
    }

    /// Skips bytes that follow their count, and returns their range.
    mutating func data() throws(NormalizeError) -> Range<Int> {
        try range(try number())
    }

    /// Throws if bytes are left.
    func finish() throws(NormalizeError) {
        guard position == end else { throw fail() }
    }
}
