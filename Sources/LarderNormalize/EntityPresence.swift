import LarderModel

/// Result of showing an entity.
enum EntityPresence {
    case shown
    case deleted
    case evicted(EntityKey)
    case tooLarge
}

extension RebuildOutput {
    /// Writes the replacement of an entity that cannot be shown.
    ///
    /// The result is for the value that contains the entity: it goes on, is deleted too, or cannot
    /// be shown either.
    mutating func settle(
        _ standing: EntityPresence,
        of key: EntityKey,
        _ rules: EntityRules,
        isPartial: Bool
    ) -> EntityPresence {
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
    /// Rule for the place of a deleted entity of this key's type.
    fileprivate func deletionRule(of key: EntityKey) -> DeletionRule {
        types.isEmpty ? .null : types[Array(key.type.utf8)]?.onDeleted ?? .null
    }
}
