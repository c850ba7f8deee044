package import LarderJSON
package import LarderModel

/// Result of rebuilding an answer.
package enum RebuildOutcome: Sendable {
    case shown(RebuiltAnswer)
    /// The answer is a deleted entity, or counts as deleted because of one that it contains.
    case deleted
    /// The answer shows an unknown entity, so it cannot be shown whole.
    case evicted(EntityKey)
    /// The answer exceeds the limit of size, depth or work because of what its entities refer to
    /// now.
    case tooLarge
}

package struct RebuiltAnswer: Equatable, Sendable {
    package let bytes: [UInt8]
    /// Whether nothing is missing.
    package let isComplete: Bool
    /// Places with something missing, in document order; at most ``Limits/missingPointersMax``.
    ///
    /// The answer has there `null`, an object without the member, or an object without any (`{}`).
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

    /// Builds the answer with the newest state of its entities.
    ///
    /// The result has the bytes of the origin's answer until a member that it shows has another
    /// value (P-11). `find` must read all entities in one read transaction, so that they belong
    /// together.
    ///
    /// - Parameters:
    ///   - template: The answer's own part.
    ///   - skeleton: The skeleton that the template was read with.
    ///   - isPartial: Whether to show the answer without its evicted entities.
    ///   - find: Returns the state of an entity; called once for each.
    /// - Returns: The answer, or why there is none.
    /// - Throws: The errors of `find`.
    package func rebuild<Failure: Error>(
        _ template: Template,
        _ skeleton: Skeleton,
        isPartial: Bool = false,
        _ find: (EntityKey) throws(Failure) -> HeldEntity
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

    /// Builds an entity with all of its members, in compact JSON.
    ///
    /// - Parameters:
    ///   - key: The entity.
    ///   - depth: How many levels of references are shown as entities. A deeper reference is shown
    ///     as its key, a string, unless the entity is deleted.
    ///   - isPartial: Whether to show the entity without the evicted ones in it.
    ///   - find: Returns the state of an entity; called once for each.
    /// - Returns: The entity, or why it cannot be shown.
    /// - Throws: The errors of `find`.
    package func show<Failure: Error>(
        _ key: EntityKey,
        expanding depth: Int = 0,
        isPartial: Bool = false,
        _ find: (EntityKey) throws(Failure) -> HeldEntity
    ) throws(Failure) -> RebuildOutcome {
        let output = RebuildOutput(bytesMax: bytesMax, workMax: workMax)
        var run = EntityRun(rules: rules, isPartial: isPartial, output: output)
        let standing = try run.show(key, expanding: min(depth, Limits.entityDepthMax), find)
        return run.output.outcome(standing, used: run.used)
    }
}

extension RebuildOutput {
    /// The answer, unless something in it cannot be shown or it is too large.
    func outcome(_ standing: EntityPresence, used: [EntityKey]) -> RebuildOutcome {
        switch standing {
        case .deleted: return .deleted
        case .evicted(let key): return .evicted(key)
        case .tooLarge: return .tooLarge
        case .shown: break
        }
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

/// Why bytes from the store are not what they should be.
package enum NormalizeError: Error, Equatable, Sendable {
    /// The bytes are cut off, changed, or of another kind.
    case damaged(StoredForm, at: Int)
    /// Another version of Larder wrote the bytes.
    case otherVersion(StoredForm)
    /// Two forms do not belong together.
    case mismatched(StoredForm)

    /// A sentence for people, without a full stop.
    package var message: String {
        switch self {
        case .damaged(let form, let offset): "\(form.text) is damaged at byte \(offset)"
        case .otherVersion(let form): "\(form.text) was written by another version"
        case .mismatched(let form): "\(form.text) belongs to something else"
        }
    }
}

/// The stored parts of normalized answers, each with its own bytes.
package enum StoredForm: UInt8, Sendable, CaseIterable {
    case entity = 1
    case skeleton = 2
    case template = 3

    fileprivate var text: String {
        switch self {
        case .entity: "a stored entity"
        case .skeleton: "a stored skeleton"
        case .template: "a stored template"
        }
    }
}

/// Shows one entity with all of its members, and what it refers to as far as is asked for.
struct EntityRun {
    let rules: EntityRules
    let isPartial: Bool
    private(set) var output: RebuildOutput
    private(set) var used: [EntityKey] = []
    private var found: [EntityKey: HeldEntity] = [:]
    /// Upper bound of the nesting depth at the current position.
    private var nesting = 0

    init(rules: EntityRules, isPartial: Bool, output: RebuildOutput) {
        self.rules = rules
        self.isPartial = isPartial
        self.output = output
    }

    /// Shows an entity; `depth` is how many references deep the ones in it are shown, too.
    mutating func show<Failure: Error>(
        _ key: EntityKey,
        expanding depth: Int,
        _ find: (EntityKey) throws(Failure) -> HeldEntity
    ) throws(Failure) -> EntityPresence {
        output.look(at: 1)
        guard !output.isTooLarge else { return .tooLarge }
        let body: EntityBody
        switch try entity(key, find) {
        case .present(let found, _): body = found
        case .deleted: return .deleted
        case .unknown: return .evicted(key)
        }
        output.look(at: body.members.count)
        nesting += 1 + body.depth
        defer { nesting -= 1 + body.depth }
        output.note(depth: nesting)
        let mark = output.mark
        output.beginObject()
        for member in body.members {
            output.beginMember(body.bytes, member.name)
            let standing = try show(member, of: body, expanding: depth, find)
            guard case .shown = standing else {
                if case .deleted = standing { output.returnTo(mark) }
                return standing
            }
        }
        output.endObject()
        return .shown
    }

    private mutating func show<Failure: Error>(
        _ member: EntityBody.Member,
        of body: EntityBody,
        expanding depth: Int,
        _ find: (EntityKey) throws(Failure) -> HeldEntity
    ) throws(Failure) -> EntityPresence {
        guard member.hasReferences else {
            output.append(body.bytes, member.value)
            return .shown
        }
        var parts = ReferenceText(member.value)
        while true {
            switch body.bytes.withUnsafeBytes({ parts.next(in: $0) }) {
            case .text(let text): output.append(body.bytes, text)
            case .reference(let range):
                let text = String(decoding: body.bytes[range], as: UTF8.self)
                let key = EntityKey(unchecked: text)
                let standing = output.settle(
                    depth > 0
                        ? try show(key, expanding: depth - 1, find) : try name(key, find),
                    of: key,
                    rules,
                    isPartial: isPartial
                )
                guard case .shown = standing else { return standing }
            case .end, .damage: return .shown
            }
        }
    }

    /// Writes the key of an entity, unless that was deleted.
    private mutating func name<Failure: Error>(
        _ key: EntityKey,
        _ find: (EntityKey) throws(Failure) -> HeldEntity
    ) throws(Failure) -> EntityPresence {
        if case .deleted = try entity(key, find) { return .deleted }
        output.appendString(Array(key.text.utf8), 0..<key.text.utf8.count)
        return .shown
    }

    private mutating func entity<Failure: Error>(
        _ key: EntityKey,
        _ find: (EntityKey) throws(Failure) -> HeldEntity
    ) throws(Failure) -> HeldEntity {
        if let entity = found[key] { return entity }
        let entity = try find(key)
        used.append(key)
        found[key] = entity
        return entity
    }
}
