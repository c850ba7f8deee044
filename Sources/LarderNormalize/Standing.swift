import LarderModel

/// What became of an entity that was to be shown.
enum Standing {
    case shown
    case deleted
    case evicted(EntityKey)
    case tooLarge
}

extension RebuildOutput {
    /// Puts in place of an entity that cannot be shown what stands for it.
    ///
    /// What it returns is what that makes of the one that holds it: a deleted one, too, or one that
    /// cannot be shown either.
    mutating func settle(
        _ standing: Standing,
        of key: EntityKey,
        _ rules: EntityRules,
        isPartial: Bool
    ) -> Standing {
        switch standing {
        case .shown, .tooLarge: return standing
        case .evicted:
            guard isPartial else { return standing }
            appendMissing(nullInPlace: true)
            return .shown
        case .deleted:
            guard isAtMember else {
                dropElement()
                return .shown
            }
            switch rules.deletionRule(of: key) {
            case .null: appendNull()
            case .omit: dropMember()
            case .cascade: return .deleted
            }
            return .shown
        }
    }
}

extension EntityRules {
    /// What is shown where an entity of this key's type stood that was deleted.
    fileprivate func deletionRule(of key: EntityKey) -> DeletionRule {
        types.isEmpty ? .null : types[Array(key.type.utf8)]?.onDeleted ?? .null
    }
}
