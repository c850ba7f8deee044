import LarderModel

/// Shows one entity with all of its members, and what it refers to as far as is asked for.
struct EntityRun {
    let rules: EntityRules
    let isPartial: Bool
    private(set) var output: RebuildOutput
    private(set) var used: [EntityKey] = []
    private var found: [EntityKey: FoundEntity] = [:]
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
        _ find: (EntityKey) throws(Failure) -> FoundEntity
    ) throws(Failure) -> EntityPresence {
        output.look(at: 1)
        guard !output.isTooLarge else { return .tooLarge }
        let body: EntityBody
        switch try entity(key, find) {
        case .present(let found): body = found
        case .deleted: return .deleted
        case .evicted: return .evicted(key)
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
        _ find: (EntityKey) throws(Failure) -> FoundEntity
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
        _ find: (EntityKey) throws(Failure) -> FoundEntity
    ) throws(Failure) -> EntityPresence {
        if case .deleted = try entity(key, find) { return .deleted }
        output.appendString(Array(key.text.utf8), 0..<key.text.utf8.count)
        return .shown
    }

    private mutating func entity<Failure: Error>(
        _ key: EntityKey,
        _ find: (EntityKey) throws(Failure) -> FoundEntity
    ) throws(Failure) -> FoundEntity {
        if let entity = found[key] { return entity }
        let entity = try find(key)
        used.append(key)
        found[key] = entity
        return entity
    }
}
