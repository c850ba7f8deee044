package import LarderModel

/// An answer's own part: its text, cut at the entities in it, and how each was written there.
///
/// # Terms
///
/// - *slot*: a place of an entity, in the text or in the value of another entity. It has the
///   entity's key, the shape of its layout, and the slots in its members' values.
/// - *exception*: a member that the slot does not show with the entity's bytes: it shows bytes of
///   its own, or nothing. It is valid while the entity's value has the digest that it had then.
///
/// # Stored form
///
/// ```
/// types  n × text             keys  n × (type, id)
/// text   n, n × (text, slot), text, depth of these texts
/// slot   distance of the key from the first new one, 2 × shape + 1 if it has exceptions,
///        [n × exception], n × (distance of its position from the one before, slot)
/// exception
///        2 × position, digest, n + 1 × text between the n slots at the position; or
///        2 × member + 1, digest: not shown
/// ```
package final class Template: Sendable {
    struct Slot: FlatTreeElement, Sendable {
        let key: Int
        let shape: Int
        /// The position in the shape of what holds it.
        let position: Int
        var exceptions: Range<Int>
        /// The next slot that is not inside this one.
        var next: Int
    }

    struct Exception: Sendable {
        let kind: Kind
        /// Of the bytes that the entity held.
        let digest: UInt64

        enum Kind: Sendable {
            /// The texts before, between and after the slots at a position of the shape.
            case own(position: Int, texts: Range<Int>)
            /// A member of the list that the slot did not have.
            case absent(member: Int)
        }
    }

    /// The stored form.
    package let bytes: [UInt8]
    /// The distinct entities of the answer.
    package let keys: [EntityKey]
    let slots: [Slot]
    let exceptions: [Exception]
    /// The texts of exceptions.
    let texts: [Range<Int>]
    /// The answer's own text before each top-level slot, and after the last.
    let literals: [Range<Int>]
    /// Nesting depth of arrays and objects in the literals.
    let depth: Int

    /// Reads the stored form of an answer with this skeleton.
    package init(_ bytes: [UInt8], _ skeleton: Skeleton) throws(NormalizeError) {
        var keys: [EntityKey] = []
        var reading = Reading()
        var depth = 0
        try bytes.withFormBytes { (buffer) throws(NormalizeError) in
            var reader = try FormReader(.template, buffer)
            keys = try Self.keys(&reader, buffer)
            var fresh = 0
            for _ in 0..<(try reader.count()) {
                reading.literals.append(try reader.data())
                try reading.slot(
                    &reader,
                    skeleton,
                    keyCount: keys.count,
                    &fresh,
                    position: 0,
                    depth: 1
                )
            }
            reading.literals.append(try reader.data())
            depth = try reader.number()
            try reader.finish()
        }
        self.bytes = bytes
        self.keys = keys
        self.depth = depth
        slots = reading.slots
        exceptions = reading.exceptions
        texts = reading.texts
        literals = reading.literals
    }

    private static func keys(
        _ reader: inout FormReader,
        _ bytes: UnsafeRawBufferPointer
    ) throws(NormalizeError) -> [EntityKey] {
        var types: [Range<Int>] = []
        for _ in 0..<(try reader.count()) { types.append(try reader.data()) }
        let count = try reader.count()
        var keys: [EntityKey] = []
        keys.reserveCapacity(count)
        var text: [UInt8] = []
        for _ in 0..<count {
            let type = try reader.number(below: types.count)
            let id = try reader.data()
            text.removeAll(keepingCapacity: true)
            text.append(contentsOf: bytes[types[type]])
            text.append(UInt8(ascii: ":"))
            text.append(contentsOf: bytes[id])
            keys.append(EntityKey(unchecked: String(decoding: text, as: UTF8.self)))
        }
        return keys
    }
}

/// The flat arrays of a template while it is read.
private struct Reading {
    var slots: [Template.Slot] = []
    var exceptions: [Template.Exception] = []
    var texts: [Range<Int>] = []
    var literals: [Range<Int>] = []

    /// Reads a slot and those within it.
    mutating func slot(
        _ reader: inout FormReader,
        _ skeleton: Skeleton,
        keyCount: Int,
        _ fresh: inout Int,
        position: Int,
        depth: Int
    ) throws(NormalizeError) {
        guard depth <= Limits.entityDepthMax else { throw reader.fail() }
        let distance = try reader.number(below: fresh + 1)
        let key = fresh - distance
        guard key < keyCount else { throw reader.fail() }
        fresh += distance == 0 ? 1 : 0
        let shape = try reader.number()
        guard shape >> 1 < skeleton.shapes.count else { throw .mismatched(.skeleton) }
        let number = slots.count
        slots.append(
            Template.Slot(
                key: key,
                shape: shape >> 1,
                position: position,
                exceptions: exceptions.count..<exceptions.count,
                next: 0
            )
        )
        if shape & 1 == 1 { try exceptions(of: number, &reader, skeleton) }
        let positions = skeleton.shapes[shape >> 1].positions.count
        var place = 0
        for _ in 0..<(try reader.count()) {
            place += try reader.number()
            guard place < positions else { throw reader.fail() }
            try slot(
                &reader,
                skeleton,
                keyCount: keyCount,
                &fresh,
                position: place,
                depth: depth + 1
            )
        }
        slots[number].next = slots.count
    }

    private mutating func exceptions(
        of slot: Int,
        _ reader: inout FormReader,
        _ skeleton: Skeleton
    ) throws(NormalizeError) {
        let shape = skeleton.shapes[slots[slot].shape]
        let first = exceptions.count
        for _ in 0..<(try reader.count()) {
            let place = try reader.number()
            let digest = try reader.digest()
            guard place & 1 == 0 else {
                let members = skeleton.lists[shape.list].members
                guard place >> 1 < members.count else { throw reader.fail() }
                let absent = Template.Exception.Kind.absent(member: place >> 1)
                exceptions.append(Template.Exception(kind: absent, digest: digest))
                continue
            }
            guard place >> 1 < shape.positions.count else { throw reader.fail() }
            let firstText = texts.count
            for _ in 0..<(try reader.count()) { texts.append(try reader.data()) }
            guard texts.count > firstText else { throw reader.fail() }
            let own = Template.Exception.Kind.own(
                position: place >> 1,
                texts: firstText..<texts.count
            )
            exceptions.append(Template.Exception(kind: own, digest: digest))
        }
        slots[slot].exceptions = first..<exceptions.count
    }
}

extension Template {
    /// The distinct entities in the answer's own text, and in the own texts of its slots.
    package func references(_ skeleton: Skeleton) -> [Reference] {
        var found = References()
        for slot in slots.siblings(in: slots.indices) {
            add(slot, skeleton, to: &found)
            addOwn(in: slot, skeleton, to: &found)
        }
        return found.order.map { key in
            Reference(key: keys[key], place: .answer(lists: found.lists[key] ?? []))
        }
    }

    private struct References {
        var order: [Int] = []
        var lists: [Int: [Int]] = [:]
        /// The same lists: an entity may have one at each of its places.
        var known: [Int: Set<Int>] = [:]
    }

    private func add(_ slot: Int, _ skeleton: Skeleton, to found: inout References) {
        let list = skeleton.shapes[slots[slot].shape].list
        let key = slots[slot].key
        if found.lists[key] == nil { found.order.append(key) }
        if found.known[key, default: []].insert(list).inserted {
            found.lists[key, default: []].append(list)
        }
    }

    private func addOwn(in slot: Int, _ skeleton: Skeleton, to found: inout References) {
        var own: Set<Int> = []
        for exception in exceptions[slots[slot].exceptions] {
            if case .own(let position, _) = exception.kind { own.insert(position) }
        }
        for child in slots.siblings(in: slot + 1..<slots[slot].next) {
            if own.contains(slots[child].position) { add(child, skeleton, to: &found) }
            addOwn(in: child, skeleton, to: &found)
        }
    }
}
