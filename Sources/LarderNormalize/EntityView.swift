package import LarderJSON
import LarderModel

/// An entity as it is shown while unsettled modifiers change it.
///
/// Computed at each read from base and the effects, in their order (P-04). An effect is left out if
/// its result would not be an object.
package struct EntityView: Sendable {
    /// The entity as it is shown; unknown if nothing shows.
    package let held: HeldEntity
    /// Whether all of the entity is shown, and not only the values from effects.
    package let isComplete: Bool
    /// Whether the steps did not suffice for all effects that would fit.
    package let isCut: Bool
    /// Whether the view differs from base.
    package let isChanged: Bool

    /// Reads the effects from their stored form; an unreadable one does nothing.
    package init(
        _ base: HeldEntity,
        stored effects: [[UInt8]],
        _ document: DocumentRules?,
        isPart: Bool = false,
        steps: inout Int,
        body: (Int) -> [UInt8]?
    ) {
        let effects = effects.map { (try? Effect(parsing: $0)) ?? .none }
        self.init(base, effects, document, isPart: isPart, steps: &steps, body: body)
    }

    /// `body` gives the bytes of the request that the effect at a place belongs to.
    package init(
        _ base: HeldEntity,
        _ effects: [Effect],
        _ document: DocumentRules? = nil,
        body: (Int) -> [UInt8]? = { _ in nil }
    ) {
        var steps = Limits.viewStepsMax
        self.init(base, effects, document, steps: &steps, body: body)
    }

    /// Takes what it needs from `steps`.
    private init(
        _ base: HeldEntity,
        _ effects: [Effect],
        _ document: DocumentRules?,
        isPart: Bool = false,
        steps: inout Int,
        body: (Int) -> [UInt8]?
    ) {
        guard !effects.isEmpty, let values = base.values(for: effects, document) else {
            held = base
            isComplete = !isPart
            isCut = false
            isChanged = false
            return
        }
        let marked = effects.map(values.entity.marked)
        let view = View.of(values.content, marked, isPart: isPart, steps: &steps)
        isComplete = view.isComplete
        isCut = view.isCut
        isChanged = view.isChanged
        func made(_ value: JSONValue?) -> HeldEntity {
            value.flatMap(values.entity.body).map { .present($0, base.stamp) } ?? base
        }
        switch view.content {
        case .unknown: held = .unknown
        case .base: held = base
        case .deleted: held = .deleted(base.stamp)
        case .json(let value): held = made(value)
        case .body(let place): held = made(body(place).flatMap { try? JSONValue(parsing: $0) })
        }
    }
}

extension HeldEntity {
    /// The value that effects are applied to, with the entity to convert it back; nil if it is
    /// damaged.
    package func values(
        for effects: [Effect],
        _ document: DocumentRules? = nil
    ) -> (entity: EntityValue, content: TargetContent)? {
        switch self {
        case .unknown: EntityValue(.empty, effects, document).map { ($0, .unknown) }
        case .deleted: EntityValue(.empty, effects, document).map { ($0, .deleted) }
        case .present(let body, _):
            EntityValue(body, effects, document).map { ($0, .json($0.value)) }
        }
    }

    /// Whether what an effect does to it is done to it alone, and not within an entity that it refers
    /// to.
    package func takes(_ effect: Effect) -> Bool {
        guard let values = values(for: [effect]),
            case .json(let value) = View.of(values.content, [effect]).content
        else { return true }
        return !values.entity.isReached(within: value)
    }

    /// Stamp of the state; before all others if the entity is unknown.
    package var stamp: EntityStamp {
        switch self {
        case .unknown: EntityStamp(version: nil, fetch: 0)
        case .deleted(let stamp), .present(_, let stamp): stamp
        }
    }

    /// Difference between two states of an entity, as watchers receive it.
    package enum Difference: Equatable, Sendable {
        case nothing
        case changed(MergedEntity.Change)
        /// The entity is deleted, or is now unknown.
        case gone
    }

    /// The members that have another value in another state of the entity.
    ///
    /// Values are compared by their bytes: another spelling counts as a change, because answers
    /// compare bytes too.
    package func difference(to new: HeldEntity) -> Difference {
        switch (self, new) {
        case (.unknown, .unknown), (.deleted, .deleted): return .nothing
        case (_, .unknown), (_, .deleted): return .gone
        case (.unknown, .present), (.deleted, .present): return .changed(.created)
        case (.present(let old, _), .present(let new, _)):
            let names = old.namesOfDifference(to: new)
            return names.isEmpty ? .nothing : .changed(.members(names))
        }
    }
}

extension EntityBody {
    /// Members that only one of the two has, or that have different bytes.
    fileprivate func namesOfDifference(to new: EntityBody) -> [String] {
        var left: [[UInt8]: Member] = [:]
        for member in members { left[Array(bytes[member.name])] = member }
        var names: [[UInt8]] = []
        for member in new.members {
            let name = Array(new.bytes[member.name])
            let old = left.removeValue(forKey: name)
            let isSame = old.map { old in
                old.hasReferences == member.hasReferences
                    && bytes[old.value] == new.bytes[member.value]
            }
            if isSame != true { names.append(name) }
        }
        return (names + left.keys).map { String(decoding: $0, as: UTF8.self) }
    }
}
