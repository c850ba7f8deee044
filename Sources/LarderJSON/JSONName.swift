import LarderModel

/// A text as a key of a set or a dictionary: two are one if their bytes of UTF-8 are.
///
/// `String` itself holds composed and decomposed letters equal, which JSON does not.
package struct JSONName: Hashable, Sendable {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    package static func == (left: JSONName, right: JSONName) -> Bool {
        left.text.hasSameBytes(as: right.text)
    }

    package func hash(into hasher: inout Hasher) {
        let isHashed: Void? = text.utf8.withContiguousStorageIfAvailable {
            hasher.combine(bytes: UnsafeRawBufferPointer($0))
        }
        if isHashed == nil {
            Array(text.utf8).withUnsafeBytes { hasher.combine(bytes: $0) }
        }
        // No UTF-8 has this byte: it ends the text.
        hasher.combine(UInt8.max)
    }
}
