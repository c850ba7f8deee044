import LarderJSON
package import LarderModel
package import LarderStore

/// What a step changes of what a target shows.
package enum TargetViews {
    /// As a ``ViewChange/Comparison``: JSON is compared by what it says, other bytes by their digest.
    package static func change(
        _ before: Target,
        _ after: Target,
        _ body: (ModifierNumber) -> [UInt8]?
    ) -> ViewChange? {
        let base = TargetContent(before.base)
        let isSameBase =
            before.entry?.body == after.entry?.body && before.isDeleted == after.isDeleted
        let old = shown(before, on: base, body)
        let new = shown(after, on: isSameBase ? base : TargetContent(after.base), body)
        switch (old, new) {
        case (.nothing, .nothing), (.deleted, .deleted): return nil
        case (.json(let old), .json(let new)) where old.isSame(as: new): return nil
        case (.bytes(let old), .bytes(let new)) where old == new: return nil
        case (_, .nothing), (_, .deleted): return .delete
        case (_, .json), (_, .bytes): return .put
        }
    }

    private enum Shown {
        case nothing
        case deleted
        case json(JSONValue)
        case bytes(Digest)
    }

    private static func shown(
        _ target: Target,
        on base: TargetContent,
        _ body: (ModifierNumber) -> [UInt8]?
    ) -> Shown {
        switch View.of(base, target.changes.map(\.known)).content {
        case .unknown: return .nothing
        case .deleted: return .deleted
        case .json(let value): return .json(value)
        case .body(let place):
            let bytes = body(target.changes[place].number) ?? []
            return .bytes(BodySummary(of: bytes, isJSON: false).digest)
        case .base:
            if case .json(let value) = base { return .json(value) }
            return target.entry.map { .bytes($0.body.digest) } ?? .nothing
        }
    }
}
