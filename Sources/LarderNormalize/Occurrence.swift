/// A place in an answer that holds an entity.
struct Occurrence: Sendable {
    /// The number of its key.
    let key: Int
    /// The entity's item on the tape.
    let item: Int
    /// The number of its shape.
    let shape: Int
    /// The next occurrence that is not inside this one.
    var next = 0
    /// The next occurrence of the same key; -1 if this is the last.
    var sibling = -1
}
