/// Entities that have no id of the server yet (case 16).
extension PlainQueue {
    static func isTemporary(_ path: String) -> Bool { path.hasPrefix("/tmp:") }

    /// The path of an entity under the id that it has now.
    func current(_ path: String) -> String {
        holds(.temporaryNameStays) ? aliases[path] ?? path : path
    }

    /// A create has brought the id of the server: it replaces the temporary one in all that waits or
    /// has failed, and the temporary one leads to it.
    mutating func replaceTemporary(of id: String, with real: String) {
        guard let create = self[id]?.changes.first(where: { Self.isTemporary($0.path) }) else {
            return
        }
        let new = Self.path(of: real)
        aliases[create.path] = new
        guard holds(.temporaryIDIsReplaced) else { return }
        for modifier in modifiers { change(modifier.id) { $0.rename(create.path, to: new) } }
    }

    /// A write that may name a temporary id whose create is confirmed.
    func renamed(_ modifier: PlainModifier) -> PlainModifier {
        var modifier = modifier
        for change in modifier.changes {
            guard let new = aliases[change.path], holds(.temporaryIDIsReplaced) else { continue }
            modifier.rename(change.path, to: new)
        }
        return modifier
    }
}

extension PlainModifier {
    mutating func rename(_ old: String, to new: String) {
        let id = { (path: String) in String(path.dropFirst()) }
        changes = changes.map { change in
            var effect = change.effect
            if case .addObject(id(old), let object, let hasForm) = effect {
                effect = .addObject(id: id(new), object, hasForm: hasForm)
            }
            return Change(path: change.path == old ? new : change.path, effect: effect)
        }
        lanes = Set(lanes.map { $0 == Self.lane(of: old) ? Self.lane(of: new) : $0 })
        if let base = sentOn.removeValue(forKey: old) { sentOn[new] = base }
    }

    static func lane(of path: String) -> String { "id:https://api.example.com" + path }
}
