extension Limits {
    /// Entities that the effects of one modifier put into documents: each is a target, too.
    ///
    /// A larger write is that of a whole page; its other objects are shown as they were written.
    package static let placedEntitiesMax = 200
    /// Elements of a list that say which members its objects have.
    package static let neighboursMax = 100
    /// Rows of an answer that are named with the writes that wait or failed on them.
    package static let markedRowsMax = 1_000
    /// Writes of one row that are named.
    package static let rowWritesMax = 100
    /// Forms of an origin's `empty`.
    package static let emptyFormsMax = 100
    /// A form of `empty`: the frame of a list without its rows.
    package static let emptyFormBytesMax = 16 << 10
}
