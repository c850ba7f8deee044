package import LarderModel
package import LarderNormalize
import Synchronization

/// What the store has to know of origins.
package struct OriginNames: Sendable {
    /// By which the answers of each are put together.
    package let rules: [OriginName: EntityRules]
    /// The id of an entity's own URL; nil where its type has none.
    package let ownID: @Sendable (EntityName) -> EntryID?
    /// The origin that an id belongs to, as one scope sees it; nil for an id that is no URL.
    package let origin: @Sendable (EntryID, Scope) -> OriginName?

    package init(
        rules: [OriginName: EntityRules],
        ownID: @escaping @Sendable (EntityName) -> EntryID? = { _ in nil },
        origin: @escaping @Sendable (EntryID, Scope) -> OriginName? = { _, _ in nil }
    ) {
        self.rules = rules
        self.ownID = ownID
        self.origin = origin
    }
}

/// The rules of origins by which answers are put together, and their URLs; guarded by a lock.
final class OriginRules: Sendable {
    private let names = Mutex(OriginNames(rules: [:]))
    private static let none = EntityRules(NormalizeRules())

    func replace(_ new: OriginNames) {
        names.withLock { $0 = new }
    }

    var hasAny: Bool { names.withLock { !$0.rules.isEmpty } }

    /// Those of an origin; one that has none any more is shown as it was kept.
    func rules(of origin: OriginName?) -> EntityRules {
        guard let origin else { return Self.none }
        return names.withLock { $0.rules[origin] } ?? Self.none
    }

    /// The id of an entity's own URL; nil where its type has none.
    func ownID(of name: EntityName) -> EntryID? {
        let ownID = names.withLock { $0.ownID }
        return ownID(name)
    }

    /// The origin that an id belongs to; nil for an id that is no URL.
    func origin(of id: EntryID, in scope: Scope) -> OriginName? {
        let origin = names.withLock { $0.origin }
        return origin(id, scope)
    }
}
