public import FoundationEssentials
import LarderModel
package import LarderWire

/// One row of a list of entries.
public struct EntryItem: Equatable, Sendable {
    package let item: EntryListItem

    /// What an entry is.
    public enum Kind: Sendable {
        /// A program's own bytes.
        case blob
        /// An origin's answer.
        case fetched
        /// A mark that the origin said that it is gone.
        case tombstone
    }

    /// The text that it is found by.
    public var id: String { item.id.text }
    /// Whose it is; nil in lists of this user's own entries.
    public var owner: EntryOwner? { item.scope.map(EntryOwner.init) }
    /// What it is.
    public var kind: Kind {
        switch item.kind {
        case .blob: .blob
        case .fetched, .variants, .entity: .fetched
        case .tombstone: .tombstone
        }
    }
    /// The origin that it was fetched from.
    public var origin: String? { item.origin?.text }
    /// The status of the origin's answer; 200 for a program's own bytes.
    public var status: Int { item.status }
    /// Its Content-Type.
    public var mediaType: String? { item.mediaType }
    /// How many bytes it has.
    public var byteCount: Int { item.byteCount }
    /// How many bytes it counts against the cache's limit, with its headers and row.
    public var accountedBytes: Int64 { item.accountedBytes }
    /// When it was given or confirmed.
    public var storedAt: Date { Date(item.storedAt) }
    /// Until when it is fresh; nil for ever, or never for an origin's answer.
    public var freshUntil: Date? { item.freshUntil.map { Date($0) } }
    /// Whether it is past its lifetime.
    public var isStale: Bool { item.isStale }
    /// The daemon's number of the step that last changed the bytes.
    public var revision: Int64 { item.revision.number }
    /// The origin's ETag, or one that the daemon made.
    public var etag: String { item.etag }
    /// Whether it is kept for good; see ``LarderClient/pin(_:waitingFor:)``.
    public var isPinned: Bool { item.isPinned }
    /// Whether only writes that wait to be sent say it, and no server has.
    public var isUnsent: Bool { item.source == .modifier }
}

/// One page of a list.
public struct EntryItems: Equatable, Sendable {
    /// The rows.
    public let items: [EntryItem]
    /// What to give as `cursor` for the page after this one; nil on the last.
    public let next: String?
}

/// The order of a list.
public enum EntryOrder: String, Sendable, CaseIterable {
    /// By id, bytewise.
    case id
    /// The largest first.
    case size
    /// The longest stored first.
    case age
    /// The least recently used first: the order of eviction.
    case used
}

/// Everything that is known of one entry.
public struct Explanation: Equatable, Sendable {
    package let explanation: EntryExplanation

    /// What a list says of it.
    public var item: EntryItem { EntryItem(item: explanation.item) }
    /// The origin's Last-Modified, as it spelled it.
    public var lastModified: String? { explanation.lastModified }
    /// The origin's other header fields, in their order.
    public var headers: [(name: String, value: String)] {
        explanation.headers.fields.map { ($0.name, $0.value) }
    }
    /// The digest of the bytes: 32 hexadecimal digits.
    public var digest: String { explanation.digest }
    /// Why it cannot be evicted, one reason each; empty when it can.
    public var protectedBy: [String] { explanation.protectedBy }
}
