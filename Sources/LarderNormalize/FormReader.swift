/// Reads the bytes of ``FormWriter``, and throws for any other bytes.
struct FormReader {
    private let form: StoredForm
    private let bytes: UnsafeRawBufferPointer
    private(set) var position: Int
    private var end: Int

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

    var isAtEnd: Bool { position == end }

    func fail() -> NormalizeError { .damaged(form, at: position) }

    mutating func number() throws(NormalizeError) -> Int {
        guard let number = bytes.number(at: &position, before: end) else { throw fail() }
        return number
    }

    /// A number below `bound`.
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
        guard isAtEnd else { throw fail() }
    }
}
