import LarderModel

/// Makes a value with references out of text and keys; see ``EntityBody`` for its form.
struct CutBuilder {
    private(set) var bytes: [UInt8] = []
    private var pending: [UInt8] = []
    private(set) var hasReferences = false

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        pending.removeAll(keepingCapacity: true)
        hasReferences = false
    }

    mutating func text(_ text: UnsafeRawBufferPointer) {
        pending.append(contentsOf: text)
    }

    mutating func text(_ text: [UInt8]) {
        pending += text
    }

    mutating func reference(_ key: EntityKey) {
        var text = key.text
        text.withUTF8 { reference(UnsafeRawBufferPointer($0)) }
    }

    mutating func reference(_ key: UnsafeRawBufferPointer) {
        flush()
        bytes.append(number: key.count)
        bytes.append(contentsOf: key)
        hasReferences = true
    }

    /// Ends the value; without a reference its bytes are the text.
    mutating func finish() {
        if hasReferences {
            flush()
        } else {
            swap(&bytes, &pending)
        }
    }

    private mutating func flush() {
        bytes.append(number: pending.count)
        bytes += pending
        pending.removeAll(keepingCapacity: true)
    }
}

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

/// A place in an answer that holds an entity.
struct Occurrence: FlatTreeElement, Sendable {
    /// The number of its key.
    let key: Int
    /// The entity's item on the tape.
    let item: Int
    /// The number of its shape.
    var shape: Int
    /// The next occurrence that is not inside this one.
    var next = 0
    /// The next occurrence of the same key; -1 if this is the last.
    var sibling = -1
}
