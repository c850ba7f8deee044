package import LarderModel

/// A reference to an entity, from an answer's own text or from a member of another entity.
///
/// An entity inside another entity is a reference of that other entity only. So a reference is
/// about the current value at a place, not about the value when the answer was stored.
package struct Reference: Equatable, Sendable {
    package let key: EntityKey
    package let place: Place

    /// Position of the reference.
    package enum Place: Equatable, Sendable {
        /// In text of an answer: the lists of its skeleton by which it is shown there.
        case answer(lists: [Int])
        /// In these members of an entity: their names, without escapes.
        case entity(members: [[UInt8]])
    }
}

extension Reference.Place {
    /// As it is stored: `n × number`, or `n × (length, name)`.
    package var stored: [UInt8] {
        var bytes: [UInt8] = []
        switch self {
        case .answer(let lists):
            for list in lists { bytes.append(number: list) }
        case .entity(let members):
            for name in members {
                bytes.append(number: name.count)
                bytes += name
            }
        }
        return bytes
    }

    /// Reads what ``stored`` was of an answer's; what cannot be read is left out.
    package init(listsIn bytes: UnsafeRawBufferPointer) {
        var lists: [Int] = []
        var position = 0
        while let list = bytes.number(at: &position, before: bytes.count) { lists.append(list) }
        self = .answer(lists: lists)
    }

    /// The same of an entity's.
    package init(membersIn bytes: UnsafeRawBufferPointer) {
        var members: [[UInt8]] = []
        var position = 0
        while let count = bytes.number(at: &position, before: bytes.count),
            count <= bytes.count - position
        {
            members.append(Array(bytes.part(position..<position + count)))
            position += count
        }
        self = .entity(members: members)
    }
}

extension EntityBody {
    /// The entities that it refers to, each once, in the order of their appearance.
    package var references: [Reference] {
        var members: [EntityKey: [[UInt8]]] = [:]
        var order: [EntityKey] = []
        bytes.withUnsafeBytes { bytes in
            for member in self.members where member.hasReferences {
                let name = Array(bytes.part(member.name))
                var parts = ReferenceText(member.value)
                reading: while true {
                    switch parts.next(in: bytes) {
                    case .text: continue
                    case .reference(let range):
                        let text = String(decoding: bytes[range], as: UTF8.self)
                        let key = EntityKey(unchecked: text)
                        if members[key] == nil { order.append(key) }
                        if members[key]?.last != name { members[key, default: []].append(name) }
                    case .end, .damage: break reading
                    }
                }
            }
        }
        return order.map { Reference(key: $0, place: .entity(members: members[$0] ?? [])) }
    }

    package var hasReferences: Bool { members.contains { $0.hasReferences } }
}

extension Reference.Place {
    /// The members that are shown there, or that hold the reference; `skeleton` is an answer's.
    package func memberNames(_ skeleton: Skeleton?) -> [String] {
        switch self {
        case .entity(let members):
            return members.map { String(decoding: $0, as: UTF8.self) }
        case .answer(let lists):
            var names: [String] = []
            for list in lists {
                for name in skeleton?.memberNames(ofList: list) ?? [] where !names.contains(name) {
                    names.append(name)
                }
            }
            return names
        }
    }
}
