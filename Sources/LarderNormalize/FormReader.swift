/// Reads what ``FormWriter`` has written, and throws at whatever else it is given.
struct FormReader {
    private let form: StoredForm
    private let bytes: UnsafeRawBufferPointer
    private(set) var position: Int
    private var end: Int

    /// Looks at the head and the check; the memory behind `bytes` must outlive the reader.
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

    /// A number of things each of which takes a byte at least, so that none is made up.
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

    /// Where as many bytes stand, which are passed over.
    mutating func range(_ count: Int) throws(NormalizeError) -> Range<Int> {
        guard count <= end - position else { throw fail() }
        defer { position += count }
        return position..<position + count
    }

    /// Where bytes behind their number stand.
    mutating func data() throws(NormalizeError) -> Range<Int> {
        try range(try number())
    }

    /// All of it has to have been read.
    func finish() throws(NormalizeError) {
        guard isAtEnd else { throw fail() }
    }
}
