import LarderJSON
import LarderModel

/// State of one rebuild: it copies pieces from the template, the skeleton and the entities.
///
/// It parses JSON only for a reference that has no slot at its place.
struct RebuildRun {
    let rules: EntityRules
    let template: Template
    let skeleton: Skeleton
    private let isPartial: Bool
    private var output: RebuildOutput
    /// Indexed by number: first the keys of the template, then others.
    private var entities: [HeldEntity?]
    private var finders: [MemberFinder?]
    private var used: [EntityKey] = []
    /// The numbers of the entities, once one is asked for by its key.
    private var numbers: [EntityKey: Int]?
    private var listed: ListedMembers
    private var selectionPlaces: SelectionPlaces?
    private var unions: [ListUnion.JSONPath: ListUnion] = [:]
    private var depth = 0
    /// Upper bound of the nesting depth at the current position.
    ///
    /// It assumes that each entity is at the deepest place of the entity that contains it.
    private var nesting: Int

    init(
        rules: EntityRules,
        template: Template,
        skeleton: Skeleton,
        isPartial: Bool,
        output: RebuildOutput
    ) {
        self.rules = rules
        self.template = template
        self.skeleton = skeleton
        self.isPartial = isPartial
        self.output = output
        entities = Array(repeating: nil, count: template.keys.count)
        finders = Array(repeating: nil, count: template.keys.count)
        listed = ListedMembers(skeleton)
        nesting = template.depth
    }

    mutating func showAll<Failure: Error>(
        _ find: (EntityKey) throws(Failure) -> HeldEntity
    ) throws(Failure) -> RebuildOutcome {
        var slot = 0
        for literal in template.literals.dropLast() {
            output.append(template.bytes, literal)
            let isRoot = output.isAtRoot
            let standing = settle(try show(slot: slot, find), of: key(of: slot), isRoot: isRoot)
            guard case .shown = standing else { return output.outcome(standing, used: used) }
            slot = template.slots[slot].next
        }
        if let last = template.literals.last { output.append(template.bytes, last) }
        return output.outcome(.shown, used: used)
    }

    private func key(of slot: Int) -> EntityKey { template.keys[template.slots[slot].key] }

    private mutating func settle(
        _ standing: EntityPresence,
        of key: EntityKey,
        isRoot: Bool = false
    ) -> EntityPresence {
        guard !isRoot else { return standing }
        return output.settle(standing, of: key, rules, isPartial: isPartial)
    }
}

extension RebuildRun {
    private mutating func entity<Failure: Error>(
        _ number: Int,
        _ key: EntityKey,
        _ find: (EntityKey) throws(Failure) -> HeldEntity
    ) throws(Failure) -> HeldEntity {
        if let entity = entities[number] { return entity }
        let entity = try find(key)
        used.append(key)
        entities[number] = entity
        if case .present(let body, _) = entity { finders[number] = MemberFinder(body) }
        return entity
    }

    private mutating func enter(_ body: EntityBody) {
        depth += 1
        nesting += 1 + body.depth
        output.note(depth: nesting)
    }

    private mutating func leave(_ body: EntityBody) {
        depth -= 1
        nesting -= 1 + body.depth
    }

    private mutating func number(of key: EntityKey) -> Int {
        var known =
            numbers
            ?? Dictionary(
                template.keys.enumerated().map { ($1, $0) },
                uniquingKeysWith: { first, _ in first }
            )
        numbers = nil
        defer { numbers = known }
        if let number = known[key] { return number }
        known[key] = entities.count
        entities.append(nil)
        finders.append(nil)
        return entities.count - 1
    }

    /// Shows an entity as it was laid out here.
    private mutating func show<Failure: Error>(
        slot number: Int,
        _ find: (EntityKey) throws(Failure) -> HeldEntity
    ) throws(Failure) -> EntityPresence {
        let slot = template.slots[number]
        output.look(at: 1)
        guard !output.isTooLarge, depth < Limits.entityDepthMax else { return .tooLarge }
        let body: EntityBody
        let key = template.keys[slot.key]
        switch try entity(slot.key, key, find) {
        case .present(let found, _): body = found
        case .deleted: return .deleted
        case .unknown: return .evicted(key)
        }
        enter(body)
        defer { leave(body) }
        let mark = output.mark
        let standing = try show(body, in: slot, firstChild: number + 1, find)
        if case .deleted = standing { output.returnTo(mark) }
        return standing
    }

    private mutating func show<Failure: Error>(
        _ body: EntityBody,
        in slot: Template.Slot,
        firstChild: Int,
        _ find: (EntityKey) throws(Failure) -> HeldEntity
    ) throws(Failure) -> EntityPresence {
        let shape = skeleton.shapes[slot.shape]
        let list = skeleton.lists[shape.list]
        let start = output.count
        output.look(at: shape.positions.count)
        var hint = 0
        var shown = 0
        var exception = slot.exceptions.lowerBound
        var child = firstChild
        for index in 0..<shape.positions.count {
            let children = children(of: slot, at: index, from: child)
            child = children.upperBound
            output.append(skeleton.bytes, skeleton.pieces[shape.firstPiece + index])
            let member = skeleton.positions[shape.positions.lowerBound + index]
            let name = skeleton.names[skeleton.memberNames[list.members.lowerBound + member]]
            let place = finders[slot.key]?.place(of: name, of: skeleton.bytes, near: hint)
            let isRepeated = skeleton.isRepeated[shape.positions.lowerBound + index]
            guard let place else {
                output.dropMember()
                if !isRepeated {
                    output.noteMissing(Array(skeleton.bytes[name]), ofObjectAt: start)
                }
                continue
            }
            hint = place + 1
            shown += isRepeated ? 0 : 1
            let value = body.members[place]
            let own = ownTexts(at: index, &exception, slot, place, children)
            let standing: EntityPresence
            if let own {
                // A value of a repeated name may be deeper than the entity's value.
                if isRepeated { output.note(depth: .max) }
                standing = try show(own, children, find)
            } else if isRepeated {
                // A repeated name is shown once as soon as its value differs.
                output.dropMember()
                continue
            } else {
                let node = skeleton.memberNodes[list.members.lowerBound + member]
                let nodes = node < 0 ? [] : [node]
                standing = try show(value, of: body, children, at: nodes, find)
            }
            guard case .shown = standing else { return standing }
        }
        if !shape.hasAll, shown < body.members.count {
            let standing = try showAdded(body, in: slot, exception, find)
            guard case .shown = standing else { return standing }
        }
        output.append(skeleton.bytes, skeleton.pieces[shape.firstPiece + shape.positions.count])
        return .shown
    }

    /// The slots at one position of a slot, of which the first would be `first`.
    private func children(
        of slot: Template.Slot,
        at position: Int,
        from first: Int
    ) -> Range<Int> {
        var next = first
        while next < slot.next, template.slots[next].position == position {
            next = template.slots[next].next
        }
        return first..<next
    }

    /// The slot's own texts of a member, if it has any and they still count.
    private mutating func ownTexts(
        at position: Int,
        _ exception: inout Int,
        _ slot: Template.Slot,
        _ place: Int,
        _ children: Range<Int>
    ) -> Range<Int>? {
        // Skips exceptions of members that the entity no longer has.
        while exception < slot.exceptions.upperBound,
            case .own(let earlier, _) = template.exceptions[exception].kind, earlier < position
        {
            exception += 1
        }
        guard exception < slot.exceptions.upperBound,
            case .own(position, let texts) = template.exceptions[exception].kind
        else { return nil }
        let digest = template.exceptions[exception].digest
        exception += 1
        guard finders[slot.key]?.digest(ofMember: place) == digest else { return nil }
        let count = template.slots.siblings(in: children).reduce(1) { count, _ in count + 1 }
        return texts.count == count ? texts : nil
    }

    /// Shows the slot's own texts, and the slots between them.
    private mutating func show<Failure: Error>(
        _ texts: Range<Int>,
        _ children: Range<Int>,
        _ find: (EntityKey) throws(Failure) -> HeldEntity
    ) throws(Failure) -> EntityPresence {
        for (text, child) in zip(texts.dropLast(), template.slots.siblings(in: children)) {
            output.append(template.bytes, template.texts[text])
            let standing = settle(try show(slot: child, find), of: key(of: child))
            guard case .shown = standing else { return standing }
        }
        output.append(template.bytes, template.texts[texts.upperBound - 1])
        return .shown
    }
}

extension RebuildRun {
    /// Shows a value of an entity.
    ///
    /// A reference with a slot is shown by that slot. Another is shown by the lists at `nodes`, the
    /// nodes of the value.
    private mutating func show<Failure: Error>(
        _ value: EntityBody.Member,
        of body: EntityBody,
        _ children: Range<Int>,
        at nodes: [Int],
        _ find: (EntityKey) throws(Failure) -> HeldEntity
    ) throws(Failure) -> EntityPresence {
        guard value.hasReferences else {
            output.append(body.bytes, value.value)
            return .shown
        }
        var parts = ReferenceText(value.value)
        var slots = SlotMatching(children, template)
        var places: ValuePlaces?
        var number = 0
        while true {
            switch body.bytes.withUnsafeBytes({ parts.next(in: $0) }) {
            case .text(let text): output.append(body.bytes, text)
            case .reference(let range):
                let standing: EntityPresence
                let key: EntityKey
                if let slot = slots.slot(of: range, in: body.bytes) {
                    key = template.keys[template.slots[slot].key]
                    standing = try show(slot: slot, find)
                } else {
                    key = EntityKey(
                        unchecked: String(decoding: body.bytes[range], as: UTF8.self)
                    )
                    let known = places ?? valuePlaces(value, of: body, at: nodes)
                    places = known
                    standing = try show(newcomer: key, at: known.nodes(of: number), find)
                }
                let settled = settle(standing, of: key)
                guard case .shown = settled else { return settled }
                number += 1
            case .end, .damage: return .shown
            }
        }
    }

    /// Shows members that the entity and its list have, but the slot did not have.
    private mutating func showAdded<Failure: Error>(
        _ body: EntityBody,
        in slot: Template.Slot,
        _ firstException: Int,
        _ find: (EntityKey) throws(Failure) -> HeldEntity
    ) throws(Failure) -> EntityPresence {
        let shape = skeleton.shapes[slot.shape]
        let members = skeleton.lists[shape.list].members
        var hidden: [Int: UInt64] = [:]
        for exception in template.exceptions[firstException..<slot.exceptions.upperBound] {
            if case .absent(let member) = exception.kind { hidden[member] = exception.digest }
        }
        let here = Set(skeleton.positions[shape.positions])
        for added in listedMembers(of: slot) where !here.contains(added.member) {
            if let digest = hidden[added.member],
                finders[slot.key]?.digest(ofMember: added.place) == digest
            {
                continue
            }
            let value = body.members[added.place]
            output.beginMember(body.bytes, value.name)
            let node = skeleton.memberNodes[members.lowerBound + added.member]
            let nodes = node < 0 ? [] : [node]
            let standing = try show(value, of: body, 0..<0, at: nodes, find)
            guard case .shown = standing else { return standing }
        }
        return .shown
    }

    /// Shows an entity that has no slot here, by the list of its type, or else by all lists.
    private mutating func show<Failure: Error>(
        newcomer key: EntityKey,
        at nodes: [Int],
        _ find: (EntityKey) throws(Failure) -> HeldEntity
    ) throws(Failure) -> EntityPresence {
        output.look(at: 1 + nodes.count)
        guard !output.isTooLarge else { return .tooLarge }
        let body: EntityBody
        let number = number(of: key)
        switch try entity(number, key, find) {
        case .present(let found, _): body = found
        case .deleted: return .deleted
        case .unknown: return .evicted(key)
        }
        let selection = union(at: ListUnion.JSONPath(nodes: nodes, type: Array(key.type.utf8)))
        output.look(at: selection.members.count)
        guard !selection.members.isEmpty else {
            output.appendMissing(nullInPlace: false)
            return .shown
        }
        guard depth < Limits.entityDepthMax else { return .tooLarge }
        enter(body)
        defer { leave(body) }
        let mark = output.mark
        output.beginObject()
        for member in selection.members {
            let name = skeleton.names[member.name]
            guard let place = finders[number]?.place(of: name, of: skeleton.bytes, near: 0) else {
                output.noteMissing(Array(skeleton.bytes[name]), ofObjectAt: mark.count)
                continue
            }
            output.beginMember(skeleton.bytes, name)
            let value = body.members[place]
            let standing = try show(value, of: body, 0..<0, at: member.nodes, find)
            guard case .shown = standing else {
                if case .deleted = standing { output.returnTo(mark) }
                return standing
            }
        }
        output.endObject()
        return .shown
    }
}

extension RebuildRun {
    /// Finds members once and keeps them; each search counts as work, so that a rebuild ends.
    private mutating func listedMembers(of slot: Template.Slot) -> [ListedMembers.Row] {
        guard var finder = finders[slot.key] else { return [] }
        defer { finders[slot.key] = finder }
        let list = skeleton.shapes[slot.shape].list
        let members = listed.members(of: slot.key, in: list, &finder)
        output.look(at: members.count)
        return members
    }

    private mutating func valuePlaces(
        _ value: EntityBody.Member,
        of body: EntityBody,
        at nodes: [Int]
    ) -> ValuePlaces {
        let selection = selectionPlaces ?? SelectionPlaces(skeleton)
        selectionPlaces = selection
        let found = ValuePlaces(
            value,
            of: body,
            at: nodes,
            selection,
            visitsMax: output.looksLeft
        )
        output.look(at: found.visits)
        return found
    }

    private mutating func union(at place: ListUnion.JSONPath) -> ListUnion {
        if let known = unions[place] { return known }
        let union = ListUnion(skeleton, at: place)
        output.look(at: union.visits)
        unions[place] = union
        return union
    }
}
