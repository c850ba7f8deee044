import LarderJSON
import LarderModel

/// The bytes of an answer while it is rebuilt; an omitted value is left out with its comma.
///
/// It also counts the work, and keeps the count when written bytes are removed. Otherwise entities
/// that refer to each other could be shown and left out without end.
struct RebuildOutput {
    private(set) var bytes: [UInt8] = []
    private let bytesMax: Int
    /// Bytes that were written or looked at; see ``look(at:)``.
    private var work = 0
    private let workMax: Int
    /// Whether the nesting depth may exceed the limit.
    private var isDeep = false
    /// Whether the first element or member was left out, so that the next comma must go too.
    private var skipsComma = false
    private(set) var isComplete = true
    /// Where something is missing: a value that begins at the offset, or a member of the object
    /// that does.
    private(set) var missing: [(offset: Int, name: [UInt8]?)] = []

    /// A state to which it can return.
    struct Mark {
        let count: Int
        fileprivate let skipsComma: Bool
        fileprivate let missingCount: Int
        fileprivate let isComplete: Bool
    }

    /// For an answer of at most `bytesMax` bytes, for which at most `workMax` is done.
    init(bytesMax: Int, workMax: Int) {
        self.bytesMax = bytesMax
        self.workMax = workMax
    }

    var count: Int { bytes.count }

    /// Whether the answer, or what was done for it, is more than may be.
    var isTooLarge: Bool { count > bytesMax || work > workMax }

    /// Notes an upper bound of the nesting depth at the current position.
    mutating func note(depth: Int) { isDeep = isDeep || depth > Limits.jsonDepthMax }

    /// Whether it is deeper than answers may be; it is read for that only where it may be.
    var isTooDeep: Bool {
        isDeep && bytes.withUnsafeBytes { JSONBrackets.depth(of: $0) } > Limits.jsonDepthMax
    }

    /// How many members may still be looked at.
    var looksLeft: Int { max(0, workMax - work) / Self.lookBytes }

    /// Work that one look at a member, or at a node of the selection tree, counts as.
    private static let lookBytes = 64

    mutating func look(at members: Int) { work += Self.lookBytes * members }

    var mark: Mark {
        Mark(
            count: bytes.count,
            skipsComma: skipsComma,
            missingCount: missing.count,
            isComplete: isComplete
        )
    }

    mutating func returnTo(_ mark: Mark) {
        // A form that is damaged may have had more left out than was written since.
        bytes.removeSubrange(min(mark.count, count)...)
        missing.removeSubrange(mark.missingCount...)
        skipsComma = mark.skipsComma
        isComplete = mark.isComplete
    }

    mutating func append(_ source: [UInt8], _ range: Range<Int>) {
        work += range.count
        guard skipsComma, !range.isEmpty else {
            bytes.append(contentsOf: source[range])
            return
        }
        skipsComma = false
        let comma = range.first { !Self.isSpace(source[$0]) } ?? range.upperBound
        guard comma < range.upperBound, source[comma] == UInt8(ascii: ",") else {
            bytes.append(contentsOf: source[range])
            return
        }
        let rest = (comma + 1..<range.upperBound).first { !Self.isSpace(source[$0]) }
        bytes.append(contentsOf: source[(rest ?? range.upperBound)..<range.upperBound])
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x20, 0x0A, 0x0D, 0x09: true
        default: false
        }
    }
}

extension RebuildOutput {
    // MARK: Parts that the daemon writes itself

    mutating func beginObject() { bytes.append(UInt8(ascii: "{")) }

    mutating func endObject() {
        bytes.append(UInt8(ascii: "}"))
        skipsComma = false
    }

    mutating func appendString(_ source: [UInt8], _ text: Range<Int>) {
        work += text.count
        source.withUnsafeBytes { bytes.append(jsonString: $0.part(text), halves: .wtf8) }
    }

    mutating func appendNull() { bytes += Array("null".utf8) }

    /// Writes a name, and a comma before it unless it is the first.
    mutating func beginMember(_ source: [UInt8], _ name: Range<Int>) {
        work += name.count
        skipsComma = false
        if let last = solid(before: count), bytes[last] != UInt8(ascii: "{") {
            bytes.append(UInt8(ascii: ","))
        }
        source.withUnsafeBytes { bytes.append(jsonString: $0.part(name), halves: .wtf8) }
        bytes.append(UInt8(ascii: ":"))
    }

    // MARK: Missing values

    /// A value cannot be shown: `null` stands for it, or an object without members.
    mutating func appendMissing(nullInPlace: Bool) {
        note(offset: bytes.count, name: nil)
        bytes += Array((nullInPlace ? "null" : "{}").utf8)
    }

    mutating func noteMissing(_ name: [UInt8], ofObjectAt offset: Int) {
        note(offset: offset, name: name)
    }

    private mutating func note(offset: Int, name: [UInt8]?) {
        isComplete = false
        guard missing.count < Limits.missingPointersMax else { return }
        missing.append((offset, name))
    }

    // MARK: Omitted values

    /// The last byte before an offset that is not white space; the bytes that it skips count as
    /// work.
    private mutating func solid(before end: Int) -> Int? {
        let last = bytes[..<end].lastIndex { !Self.isSpace($0) }
        work += end - (last ?? 0)
        return last
    }

    /// Whether the next value is the root: nothing or a byte order mark is before it.
    var isAtRoot: Bool {
        mutating get { solid(before: count).map { $0 == 2 && bytes[$0] == 0xBF } ?? true }
    }

    /// Whether a value that comes now is a member's; else it is an element.
    var isAtMember: Bool {
        mutating get { solid(before: count).map { bytes[$0] == UInt8(ascii: ":") } ?? false }
    }

    /// Leaves out the element that would come now.
    mutating func dropElement() {
        guard let last = solid(before: count), bytes[last] == UInt8(ascii: ",") else {
            skipsComma = true
            return
        }
        bytes.removeSubrange(last...)
    }

    /// Takes back the name that was written last, with what divides it from what is before it.
    mutating func dropMember() {
        guard let colon = solid(before: count), let close = solid(before: colon),
            let open = openingQuote(before: close)
        else { return }
        if let before = solid(before: open), bytes[before] == UInt8(ascii: ",") {
            bytes.removeSubrange(before...)
        } else {
            bytes.removeSubrange(open...)
            skipsComma = true
        }
    }

    /// Where the name begins that ends at `close`: at a quotation mark that is not escaped.
    private func openingQuote(before close: Int) -> Int? {
        var index = close - 1
        while index >= 0 {
            if bytes[index] == UInt8(ascii: "\"") {
                let first = bytes[..<index].lastIndex { $0 != UInt8(ascii: "\\") } ?? -1
                if (index - first).isMultiple(of: 2) == false { return index }
            }
            index -= 1
        }
        return nil
    }
}

extension RebuildOutput {
    /// Where something is missing, in document order.
    ///
    /// The answer is read for that, which it is not while nothing is missing.
    var missingPointers: [JSONPointer] {
        guard !missing.isEmpty else { return [] }
        var names: [Int: [[UInt8]?]] = [:]
        for (offset, name) in missing { names[offset, default: []].append(name) }
        return bytes.withUnsafeBytes { buffer in
            guard let tape = try? JSONTape(buffer, valuesMax: .max) else { return [.whole] }
            var search = Search(tape: tape, bytes: buffer, names: names)
            search.visit(0)
            return search.pointers
        }
    }

    private struct Search {
        let tape: JSONTape
        let bytes: UnsafeRawBufferPointer
        let names: [Int: [[UInt8]?]]
        var tokens: [String] = []
        var pointers: [JSONPointer] = []

        mutating func visit(_ item: Int) {
            let value = tape.items[item]
            for name in names[Int(value.start)] ?? [] {
                let last = name.map { [String(decoding: $0, as: UTF8.self)] } ?? []
                pointers.append(JSONPointer(tokens: tokens + last))
            }
            guard value.isContainer else { return }
            for (position, child) in tape.children(of: item).enumerated() {
                let isMember = tape.items[child].nameEnd > 0
                tokens.append(
                    isMember
                        ? String(decoding: tape.name(of: child, in: bytes), as: UTF8.self)
                        : String(position)
                )
                visit(child)
                tokens.removeLast()
            }
        }
    }
}
