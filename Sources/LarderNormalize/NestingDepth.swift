/// Nesting depth of arrays and objects, computed from the brackets of JSON alone.
///
/// The text may come in several pieces. A cut may replace a whole value, but not be within a
/// string.
struct NestingDepth {
    private var level = 0
    /// The deepest so far.
    private(set) var depth = 0

    /// The depth of a whole text.
    static func of(_ text: UnsafeRawBufferPointer) -> Int {
        var nesting = NestingDepth()
        nesting.add(text)
        return nesting.depth
    }

    mutating func add(_ text: UnsafeRawBufferPointer) {
        var isInString = false
        var position = 0
        while position < text.count {
            switch text[position] {
            case UInt8(ascii: "\""): isInString.toggle()
            case UInt8(ascii: "\\"): position += 1
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                level += isInString ? 0 : 1
                depth = max(depth, level)
            case UInt8(ascii: "]"), UInt8(ascii: "}"): level -= isInString ? 0 : 1
            default: break
            }
            position += 1
        }
    }
}
