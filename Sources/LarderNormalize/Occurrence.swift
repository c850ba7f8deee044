/// One place of an answer where an entity stands.
struct Occurrence: Sendable {
    /// The number of its key.
    let key: Int
    /// Its item on the tape.
    let item: Int
    /// The number of its shape.
    let shape: Int
    /// The occurrence behind this one and all within it.
    var next = 0
    /// The next one of the same key; -1 behind the last.
    var sibling = -1
}
