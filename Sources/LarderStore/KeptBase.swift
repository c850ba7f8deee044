package import LarderModel

/// The last thing that the server, or a client of its own blob, said an id is.
package enum KeptBase: Sendable {
    /// Nothing is known of it.
    case unknown
    /// It is deleted; the entry says with which status.
    case deleted(Entry)
    /// Its bytes are there if they are one JSON text; others are not read.
    case value(Entry, [UInt8]?)
}

/// Keeps an answer that set out before a write from undoing it (P-06).
package struct AnswerFence: Sendable {
    /// Whether something was written to an id that the answer may not know of yet.
    ///
    /// Asked for every answer, so it must be quick.
    package let covers: @Sendable (ScopeKey, EntryID) -> Bool
    /// What is stored of an answer, in the id's turn; nil for nothing.
    ///
    /// Given are the answer, its bytes where they are JSON, and what it would replace. Bytes that
    /// stand inline in what it returns may be as many as they like.
    package let adjust: @Sendable (NewEntry, [UInt8]?, KeptBase) -> NewEntry?

    package init(
        covers: @escaping @Sendable (ScopeKey, EntryID) -> Bool,
        adjust: @escaping @Sendable (NewEntry, [UInt8]?, KeptBase) -> NewEntry?
    ) {
        self.covers = covers
        self.adjust = adjust
    }
}
