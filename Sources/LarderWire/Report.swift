/// An answer of one JSON text.
package protocol Report: Sendable {
    /// About how long its JSON is, told without making it.
    var byteCount: Int { get }
    func encoded() -> [UInt8]
}

/// One page of a list.
package protocol ReportPage: Report {
    associatedtype Item

    var items: [Item] { get }
}

extension ReportPage {
    /// An item is about as long as its id, and most ids are far shorter than they may be.
    package var byteCount: Int { items.count << 10 }
}
