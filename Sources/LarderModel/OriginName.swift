/// The name of a configured server: 1 to 64 letters, digits, `.`, `_` and `-`.
package struct OriginName: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let text: String

    package var description: String { text }

    package init(_ text: String) throws(ModelError) {
        let letters = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "-"):
                true
            default: false
            }
        }
        guard (1...Limits.originNameBytesMax).contains(text.utf8.count), letters else {
            throw .badOriginName(text)
        }
        self.text = text
    }

    package static func < (left: OriginName, right: OriginName) -> Bool {
        left.text < right.text
    }
}
