/// A token of a JSON text: its kind and its bytes.
package struct JSONToken: Equatable, Sendable {
    package enum Kind: UInt8, Sendable {
        case beginObject
        case endObject
        case beginArray
        case endArray
        /// The name of a member; its range has both quotation marks, but not the colon.
        case name
        /// A string that is a value; its range has both quotation marks.
        case string
        case number
        case `true`
        case `false`
        case null
    }

    package let kind: Kind
    /// Offsets into the bytes that the tokenizer was given.
    package let range: Range<Int>
    /// Whether a string or a name has a backslash: where it has none, the bytes between its
    /// quotation marks are its text.
    package let hasEscapes: Bool

    init(_ kind: Kind, _ start: Int, _ end: Int, hasEscapes: Bool = false) {
        self.kind = kind
        range = Range(uncheckedBounds: (start, end))
        self.hasEscapes = hasEscapes
    }
}
