public import FoundationEssentials
import LarderModel
package import LarderWire

/// One row of a list of entities.
public struct EntityItem: Equatable, Sendable {
    package let item: EntityListItem

    /// What it is called.
    public var id: EntityID { EntityID(item.name) }
    /// `Type:id`.
    public var key: String { item.name.key.text }
    /// Its type.
    public var type: String { item.name.key.type }
    /// Whose row it is; nil in lists of this user's own.
    public var owner: EntryOwner? { item.scope.map(EntryOwner.init) }
    /// Whether what is known is that its origin has deleted it.
    public var isDeleted: Bool { item.isDeleted }
    /// How many bytes hold it.
    public var byteCount: Int { item.byteCount }
    /// How many bytes it counts against the cache's limit.
    public var accountedBytes: Int64 { item.accountedBytes }
    /// When it was last given.
    public var storedAt: Date { Date(item.storedAt) }
    /// Whether only writes that wait to be sent say it, and no server has.
    public var isUnsent: Bool { item.source == .modifier }
    /// The daemon's number of the step that last changed it.
    public var revision: Int64 { item.revision.number }
}

/// One page of a list of entities.
public struct EntityItems: Equatable, Sendable {
    /// The rows.
    public let items: [EntityItem]
    /// What to give as `cursor` for the page after this one; nil on the last.
    public let next: String?
}

/// A decoded entity, and what is known of it.
public struct TypedEntity<Value: Sendable>: Sendable {
    /// It.
    public let value: Value
    /// All else; its `id` is the key.
    public let metadata: EntryMetadata
}
