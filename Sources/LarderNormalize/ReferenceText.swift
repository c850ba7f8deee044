/// The parts of a value with references, in their order: text, and between two texts a key.
struct ReferenceText {
    enum Part {
        case text(Range<Int>)
        /// The text of a key.
        case reference(Range<Int>)
        case end
        /// The bytes are not a stored value.
        case damage
    }

    private var position: Int
    private let end: Int
    private var isAtText = true

    /// Parts of the value that takes `range` of the bytes that ``next(in:)`` is given.
    init(_ range: Range<Int>) {
        position = range.lowerBound
        end = range.upperBound
    }

    mutating func next(in bytes: UnsafeRawBufferPointer) -> Part {
        if isAtText {
            guard let range = data(in: bytes) else { return .damage }
            isAtText = false
            return .text(range)
        }
        guard position < end else { return .end }
        guard let range = data(in: bytes), !range.isEmpty else { return .damage }
        isAtText = true
        return .reference(range)
    }

    /// Reads a length and the bytes that follow it.
    private mutating func data(in bytes: UnsafeRawBufferPointer) -> Range<Int>? {
        guard let count = bytes.number(at: &position, before: end), count <= end - position else {
            return nil
        }
        defer { position += count }
        return position..<position + count
    }
}
