import LarderJSON
import LarderModel

/// The values of a text in document order, each with its byte range.
///
/// One pass over the bytes builds it, so that nothing is parsed twice.
struct JSONTape: Sendable {
    /// A value, and the name before it if it is a member.
    struct Item: FlatTreeElement, Sendable {
        var start: UInt32
        var end: UInt32
        /// The name with its quotation marks; both 0 if the value is not a member.
        var nameStart: UInt32
        var nameEnd: UInt32
        /// The number of ``next``.
        fileprivate var after: UInt32
        var kind: JSONToken.Kind
        /// Whether a string, or the name, has a backslash.
        var hasEscapes: Bool
        var nameHasEscapes: Bool

        var next: Int { Int(after) }
        var range: Range<Int> { Int(start)..<Int(end) }
        /// The bytes between the quotation marks of a string.
        var content: Range<Int> { Int(start) + 1..<Int(end) - 1 }
        var name: Range<Int> { Int(nameStart) + 1..<Int(nameEnd) - 1 }
        var isContainer: Bool { kind == .beginObject || kind == .beginArray }
    }

    enum Failure: Error {
        case json(JSONError)
        case tooManyValues
    }

    private(set) var items: [Item]

    /// Reads all of `bytes`, which are fewer than 4 GiB.
    init(
        _ bytes: UnsafeRawBufferPointer,
        valuesMax: Int = Limits.normalizedValuesMax
    ) throws(Failure) {
        items = []
        items.reserveCapacity(min(bytes.count / 24 + 16, valuesMax))
        var open: [UInt32] = []
        var tokenizer = JSONTokenizer(bytes)
        var name: JSONToken?
        while let token = try Self.next(&tokenizer) {
            switch token.kind {
            case .name:
                name = token
                continue
            case .endObject, .endArray:
                guard let index = open.popLast() else { preconditionFailure("it was opened") }
                items[Int(index)].end = UInt32(token.range.upperBound)
                items[Int(index)].after = UInt32(items.count)
                continue
            case .beginObject, .beginArray: open.append(UInt32(items.count))
            case .string, .number, .true, .false, .null: break
            }
            guard items.count < valuesMax else { throw .tooManyValues }
            items.append(
                Item(
                    start: UInt32(token.range.lowerBound),
                    end: UInt32(token.range.upperBound),
                    nameStart: UInt32(name?.range.lowerBound ?? 0),
                    nameEnd: UInt32(name?.range.upperBound ?? 0),
                    after: UInt32(items.count + 1),
                    kind: token.kind,
                    hasEscapes: token.hasEscapes,
                    nameHasEscapes: name?.hasEscapes ?? false
                )
            )
            name = nil
        }
    }

    private static func next(_ tokenizer: inout JSONTokenizer) throws(Failure) -> JSONToken? {
        do throws(JSONError) { return try tokenizer.next() } catch { throw .json(error) }
    }

    subscript(index: Int) -> Item { items[index] }

    /// The items of the members or the elements of a container.
    func children(of index: Int) -> Siblings<Item> {
        items.siblings(in: index + 1..<items[index].next)
    }
}

/// An element of a tree that is a flat list in document order: what is inside of it follows it.
protocol FlatTreeElement {
    /// The index of the next element that is not inside this one.
    var next: Int { get }
}

/// The indices of elements of a flat tree that are not inside each other.
struct Siblings<Node: FlatTreeElement>: Sequence, IteratorProtocol {
    fileprivate let elements: [Node]
    fileprivate var position: Int
    fileprivate let end: Int

    mutating func next() -> Int? {
        guard position < end else { return nil }
        defer { position = elements[position].next }
        return position
    }
}

extension Array where Element: FlatTreeElement {
    /// The elements of a range that are not inside others of it.
    func siblings(in range: Range<Int>) -> Siblings<Element> {
        Siblings(elements: self, position: range.lowerBound, end: range.upperBound)
    }
}

extension JSONTape {
    /// The last member of this name, which is the one that counts.
    func member(
        _ name: [UInt8],
        of index: Int,
        in bytes: UnsafeRawBufferPointer
    ) -> Int? {
        var found: Int?
        var position = index + 1
        let end = items[index].next
        while position < end {
            if isNamed(name, position, in: bytes) { found = position }
            position = items[position].next
        }
        return found
    }

    private func isNamed(_ name: [UInt8], _ index: Int, in bytes: UnsafeRawBufferPointer) -> Bool {
        let item = items[index]
        guard !item.nameHasEscapes else { return self.name(of: index, in: bytes) == name }
        let range = item.name
        return range.count == name.count
            && name.withUnsafeBytes { bytes.hasBytes(range, $0) }
    }

    /// The name of a member, decoded.
    func name(of index: Int, in bytes: UnsafeRawBufferPointer) -> [UInt8] {
        let item = items[index]
        guard item.nameHasEscapes else { return Array(bytes[item.name]) }
        return JSONStringScan.decoded(bytes.part(item.name))
    }

    /// The text of a string, decoded.
    func text(of index: Int, in bytes: UnsafeRawBufferPointer) -> [UInt8] {
        let item = items[index]
        guard item.hasEscapes else { return Array(bytes[item.content]) }
        return JSONStringScan.decoded(bytes.part(item.content))
    }
}

extension UnsafeRawBufferPointer {
    /// Whether the bytes in `range` are those of `other`.
    @inline(__always)
    func hasBytes(_ range: Range<Int>, _ other: UnsafeRawBufferPointer) -> Bool {
        guard range.count == other.count else { return false }
        var index = 0
        let start = range.lowerBound
        while index + 8 <= other.count {
            let left = loadUnaligned(fromByteOffset: start + index, as: UInt64.self)
            let right = other.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            guard left == right else { return false }
            index += 8
        }
        while index < other.count {
            guard self[start + index] == other[index] else { return false }
            index += 1
        }
        return true
    }

    /// The part of it.
    @inline(__always)
    func part(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self[range])
    }
}
