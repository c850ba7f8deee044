import LarderJSON
import LarderModel
import LarderNormalize
import LarderStore

/// Finds the entities that the effects of a modifier put into documents (case 28).
///
/// Each is a target of the modifier, too: its members show over the entity's base, and the entity
/// is one of the modifier's lanes.
struct PlacedChanges: EnginePart {
    let context: EngineContext

    /// The changes, and one for each entity that only an effect names.
    ///
    /// `effects` are those of the changes. Objects after the first ``Limits/placedEntitiesMax`` are
    /// shown as they were written.
    func adding(
        to changes: [NewChange],
        _ effects: [Effect],
        _ scope: ScopeKey
    ) -> [NewChange] {
        let (origins, uid) = (context.origins, scope.scope.uid)
        var all = changes
        var places: [EntryID: Int] = [:]
        for (place, change) in changes.enumerated() { places[change.id] = place }
        var members: [EntryID: JSONValue] = [:]
        var waiting = Array(zip(changes.map(\.id), effects))
        var next = 0
        while next < waiting.count {
            let (parent, effect) = waiting[next]
            next += 1
            for (id, written) in origins.placed(by: effect, in: parent, for: uid) {
                // A change that the program gives says what the entity is.
                let isNamed = places[id].map { !all[$0].isImplied } ?? false
                let object = written.laid(over: .object([]))
                let merged = object.laid(over: members[id] ?? .object([]))
                guard let said = Effect.assigning(merged)
                else { continue }
                if places[id] == nil {
                    guard all.count - changes.count < Limits.placedEntitiesMax else { return all }
                    places[id] = all.count
                    all.append(NewChange(placing: change(of: id, said, scope), into: []))
                }
                guard let place = places[id] else { continue }
                if id != parent, !all[place].parents.contains(parent) {
                    all[place].parents.append(parent)
                }
                guard !isNamed else { continue }
                members[id] = merged
                all[place].effect = said.bytes
                if let own = Effect.assigning(object) { waiting.append((id, own)) }
            }
        }
        return all
    }

    private func change(of id: EntryID, _ effect: Effect, _ scope: ScopeKey) -> NewChange {
        NewChange(
            id: id,
            effect: effect.bytes,
            isOfSharedRow: context.sharedScope(of: id, for: scope) != nil,
            variants: context.variantPlaces(of: id, scope)
        )
    }
}

extension OriginTable {
    /// The entities that an effect puts into a target, with the objects that say so.
    ///
    /// An object within such an object is one that the outer entity has.
    func placed(
        by effect: Effect,
        in target: EntryID,
        for uid: UInt32?
    ) -> [(id: EntryID, object: JSONValue)] {
        guard let document = document(target, for: uid),
            let origin = target.entity?.origin ?? origin(of: target, for: uid)?.name
        else { return [] }
        return document.placed(by: effect).map { placed in
            (id: EntryID(EntityName(placed.key, of: origin)), object: placed.object)
        }
    }
}

extension Effect {
    /// Assigns each member of an object; nil for one that no stored effect can hold.
    fileprivate static func assigning(_ object: JSONValue) -> Effect? {
        let assignments = (object.members ?? []).map { member in
            JSONAssignment(JSONPointer(tokens: [member.name]), member.value)
        }
        let effect = assignments.isEmpty ? Effect.none : .set(assignments)
        return (try? Effect(parsing: effect.bytes)) == nil ? nil : effect
    }
}

extension JSONValue {
    /// The members of an object, each once, over those of another.
    fileprivate func laid(over other: JSONValue) -> JSONValue {
        var all: [JSONMember] = []
        var places: [JSONName: Int] = [:]
        for member in (other.members ?? []) + (members ?? []) {
            let name = JSONName(member.name)
            if let place = places[name] {
                all[place].value = member.value
            } else {
                places[name] = all.count
                all.append(member)
            }
        }
        return .object(all)
    }
}
