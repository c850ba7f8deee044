package import LarderJSON
package import LarderModel

/// What modifiers change, as it travels: strings.
///
/// They are ids, or, where the object around them has the member `origin`, keys of that origin's
/// entities; what is not of that kind is then an object of its own, with `id`, or with `key` and
/// `origin`.
struct TargetList {
    let targets: [EntryID]
    /// Whose the keys among the strings are; nil where the strings are ids.
    let origin: OriginName?

    init(_ targets: [EntryID]) {
        self.targets = targets
        origin = targets.lazy.compactMap(\.entity).first?.origin
    }

    /// Reads what ``write(as:to:)`` has written.
    init(_ object: WireObject, _ name: String) throws(WireError) {
        let origin = try object.optional("origin") { try? OriginName($0) }
        var targets: [EntryID] = []
        for element in try object.elements(name) {
            switch element {
            case .string(let text):
                if let id = Self.target(text, origin) { targets.append(id) }
            case .object(let object): targets.append(try object.idOrKey())
            }
        }
        self.targets = targets
        self.origin = origin
    }

    /// Nil for what a newer daemon may know.
    private static func target(_ text: String, _ origin: OriginName?) -> EntryID? {
        guard let origin else { return try? EntryID(text) }
        return (try? EntityKey(text)).map { EntryID(EntityName($0, of: origin)) }
    }

    /// What stands for a target where there is room for a string only: as in ``targets``, or the
    /// id of an entry among keys.
    func name(of target: EntryID) -> String {
        guard let entity = target.entity else { return target.text }
        return entity.origin == origin ? entity.key.text : entity.description
    }

    /// What ``name(of:)`` has given a name; nil for what a newer daemon may know.
    func target(named name: String) -> EntryID? {
        targets.first { self.name(of: $0).hasSameBytes(as: name) } ?? Self.target(name, origin)
    }

    /// Writes the array and, where strings in it are keys, `origin`.
    func write(as name: String, to json: inout JSONWriter) {
        json.name(name)
        json.beginArray()
        for target in targets {
            if target.entity?.origin == origin {
                json.string(self.name(of: target))
            } else {
                json.object { $0.members(naming: target) }
            }
        }
        json.endArray()
        if let origin { json.member("origin", origin.text) }
    }
}

extension JSONWriter {
    /// The member `id`, or of an entity `key` and `origin`.
    package mutating func members(naming id: EntryID) {
        if let entity = id.entity {
            member("key", entity.key.text)
            member("origin", entity.origin.text)
        } else {
            member("id", id.text)
        }
    }
}

extension WireObject {
    /// The id that `id`, or `key` and `origin` name.
    func idOrKey() throws(WireError) -> EntryID {
        guard try value("key") != nil else { return try id("id") }
        return EntryID(try entityName())
    }

    /// The entity that `key` and `origin` name.
    func entityName() throws(WireError) -> EntityName {
        let key = try required("key") { try? EntityKey($0) }
        return EntityName(key, of: try required("origin") { try? OriginName($0) })
    }
}
