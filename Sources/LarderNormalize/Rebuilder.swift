package import LarderJSON
package import LarderModel

/// What is found of an entity when an answer is rebuilt: base, or the view of it.
package enum FoundEntity: Sendable {
    case present(EntityBody)
    case deleted
    /// Nothing is known: it was evicted.
    case evicted

    package init(_ held: HeldEntity) {
        switch held {
        case .unknown: self = .evicted
        case .deleted: self = .deleted
        case .present(let body, _): self = .present(body)
        }
    }
}

/// What an answer is now.
package enum RebuildOutcome: Sendable {
    case shown(RebuiltAnswer)
    /// It is an entity that was deleted, or counts as one, as what it holds was.
    case deleted
    /// It shows an entity of which nothing is known, so it cannot be shown whole.
    case evicted(EntityKey)
    /// What its entities refer to by now has made it larger, or deeper, than answers may be, or to
    /// find out what it shows would take longer than to show the largest.
    case tooLarge
}

package struct RebuiltAnswer: Equatable, Sendable {
    package let bytes: [UInt8]
    /// Whether nothing is missing.
    package let isComplete: Bool
    /// Where something is missing, in document order: `null` stands there, an object without the
    /// member, or one without any (`{}`); at most ``Limits/missingPointersMax``.
    package let missing: [JSONPointer]
    /// The entities that it was made of, each once.
    package let used: [EntityKey]
}

/// Puts answers of one origin together again from their entities.
package struct Rebuilder: Sendable {
    private let rules: EntityRules
    private let bytesMax: Int
    private let workMax: Int

    /// Rebuilds no answer that has more than `bytesMax` bytes, or takes more than `workMax`.
    package init(_ rules: EntityRules, bytesMax: Int, workMax: Int) {
        self.rules = rules
        self.bytesMax = min(bytesMax, Int(UInt32.max))
        self.workMax = workMax
    }

    /// Rebuilds no answer that has more than `bytesMax` bytes.
    package init(_ rules: EntityRules, bytesMax: Int) {
        let most = min(bytesMax, Int(UInt32.max))
        self.init(rules, bytesMax: most, workMax: Limits.rebuildWorkMax(bytesMax: most))
    }

    /// The answer, with the newest state of its entities.
    ///
    /// It is byte for byte what came, until a member that it shows has another value (P-11). All
    /// entities have to be found in one read transaction, so that none is torn from another.
    ///
    /// - Parameters:
    ///   - template: The answer's own part.
    ///   - skeleton: The skeleton that the template was read with.
    ///   - isPartial: Whether it is to be shown without entities that were evicted.
    ///   - find: Says what is known of an entity; asked once for each.
    /// - Returns: The answer, or why there is none.
    /// - Throws: What `find` throws.
    package func rebuild<Failure: Error>(
        _ template: Template,
        _ skeleton: Skeleton,
        isPartial: Bool = false,
        _ find: (EntityKey) throws(Failure) -> FoundEntity
    ) throws(Failure) -> RebuildOutcome {
        var run = RebuildRun(
            rules: rules,
            template: template,
            skeleton: skeleton,
            isPartial: isPartial,
            output: RebuildOutput(bytesMax: bytesMax, workMax: workMax)
        )
        return try run.showAll(find)
    }

    /// One entity with all of its members, in compact JSON.
    ///
    /// - Parameters:
    ///   - key: The entity.
    ///   - depth: How many references deep the entities in it are shown, too; of the others the key
    ///     stands there as a string, unless they were deleted.
    ///   - isPartial: Whether it is to be shown without entities that were evicted.
    ///   - find: Says what is known of an entity; asked once for each.
    /// - Returns: The entity, or why it cannot be shown.
    /// - Throws: What `find` throws.
    package func show<Failure: Error>(
        _ key: EntityKey,
        expanding depth: Int = 0,
        isPartial: Bool = false,
        _ find: (EntityKey) throws(Failure) -> FoundEntity
    ) throws(Failure) -> RebuildOutcome {
        let output = RebuildOutput(bytesMax: bytesMax, workMax: workMax)
        var run = EntityRun(rules: rules, isPartial: isPartial, output: output)
        switch try run.show(key, expanding: min(depth, Limits.entityDepthMax), find) {
        case .shown: return run.output.outcome(used: run.used)
        case .deleted: return .deleted
        case .evicted(let key): return .evicted(key)
        case .tooLarge: return .tooLarge
        }
    }
}

extension RebuildOutput {
    /// The answer, unless it is too large.
    func outcome(used: [EntityKey]) -> RebuildOutcome {
        guard !isTooLarge, !isTooDeep else { return .tooLarge }
        return .shown(
            RebuiltAnswer(
                bytes: bytes,
                isComplete: isComplete,
                missing: missingPointers,
                used: used
            )
        )
    }
}
