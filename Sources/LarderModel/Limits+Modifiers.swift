/// Bounds of what is kept and told of modifiers.
extension Limits {
    /// Effects of one change.
    package static let effectsMax = 100
    /// Names in an origin's `keep_headers`.
    package static let keptHeadersMax = 16
    /// Header fields that are kept of an answer to a modifier, with their names.
    package static let keptHeaderBytesMax = 8_192
    /// Bodies and effects in one page of modifiers; the next page has the rest.
    package static let modifierPageBytesMax = 4 << 20
}
