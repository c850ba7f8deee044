/// Whether a JSON text, which comes in pieces, ends where its brackets and strings do.
///
/// So a text that was cut off is found, though not each that is wrong (``JSONValidator``).
package struct JSONEnding: Sendable {
    private var depth = 0
    private var isInString = false
    private var isEscaped = false

    package init() {}

    package var isCutOff: Bool { depth > 0 || isInString }

    package mutating func take(_ bytes: [UInt8]) {
        for byte in bytes {
            if isEscaped {
                isEscaped = false
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString.toggle()
            case UInt8(ascii: "\\"): isEscaped = isInString
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += isInString ? 0 : 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= isInString ? 0 : 1
            default: break
            }
        }
    }
}
