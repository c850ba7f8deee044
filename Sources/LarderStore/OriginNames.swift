package import LarderModel
package import LarderNormalize

package struct OriginNames: Sendable {
    package let rules: [OriginName: EntityRules]
    /// The id of an entity's own URL; nil where its type has none.
    package let ownID: @Sendable (EntityName) -> EntryID?
    /// The origin that an id belongs to, as one scope sees it; nil for an id that is no URL.
    package let origin: @Sendable (EntryID, Scope) -> OriginName?
    /// The entities in an origin's answer with an id; nil where it is to be kept whole.
    package let split: @Sendable (EntryID, OriginName, [UInt8]) -> Split?

    package init(
        rules: [OriginName: EntityRules],
        ownID: @escaping @Sendable (EntityName) -> EntryID? = { _ in nil },
        origin: @escaping @Sendable (EntryID, Scope) -> OriginName? = { _, _ in nil },
        split: @escaping @Sendable (EntryID, OriginName, [UInt8]) -> Split? = { _, _, _ in nil }
    ) {
        self.rules = rules
        self.ownID = ownID
        self.origin = origin
        self.split = split
    }

    private static let none = EntityRules(NormalizeRules())

    func rules(of origin: OriginName?) -> EntityRules { origin.flatMap { rules[$0] } ?? Self.none }
}
