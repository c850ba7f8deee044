import LarderJSON
import LarderModel
import LarderNormalize

/// What is to be shown, worked out on trees of values and by the letter of the design.
///
/// It knows nothing of bytes, cuts, slots or digests: an answer is the tree that came, each entity
/// in it with what was held of it then.
struct ModelStore {
    /// A value that an entity holds.
    indirect enum Held: Equatable {
        case value(JSONValue)
        case array([Held])
        case object(Members)
        case reference(EntityKey)
    }

    /// Members in the order in which they came first, each name once.
    struct Members: Equatable {
        private(set) var names: [String] = []
        private var values: [String: Held] = [:]
        /// How often each has got another value.
        private var changes: [String: Int] = [:]

        init(_ members: [(name: String, value: Held)] = []) {
            for (name, value) in members { self[name] = value }
        }

        subscript(name: String) -> Held? {
            get { values[name] }
            set {
                if values[name] == nil { names.append(name) }
                values[name] = newValue
                changes[name, default: 0] += 1
            }
        }

        static func == (left: Members, right: Members) -> Bool {
            left.names == right.names && left.values == right.values
        }

        /// Whether the member has had another value since `then`, whatever it has now.
        func hasChanged(_ name: String, since then: Members) -> Bool {
            changes[name] != then.changes[name]
        }

        func isSame(as other: Members) -> Bool {
            names.count == other.names.count
                && names.allSatisfy { name in
                    guard let left = self[name], let right = other[name] else { return false }
                    return left.isSame(as: right)
                }
        }
    }

    enum Row {
        case deleted
        case present(Members)
    }

    private(set) var rows: [EntityKey: Row] = [:]
    let deletionRules: [String: DeletionRule]

    init(_ rules: NormalizeRules) {
        deletionRules = Dictionary(
            uniqueKeysWithValues: rules.types.map { ($0.type, $0.onDeleted) }
        )
    }

    mutating func delete(_ key: EntityKey) { rows[key] = .deleted }
    mutating func evict(_ key: EntityKey) { rows[key] = nil }

    mutating func put(_ value: JSONValue) -> ModelAnswer {
        let answer = ModelAnswer(value)
        for occurrence in answer.occurrences {
            var members = Members()
            if case .present(let known) = rows[occurrence.key] { members = known }
            for member in occurrence.members {
                let value = member.value.held
                if let old = members[member.name], old.isSame(as: value) { continue }
                members[member.name] = value
            }
            rows[occurrence.key] = .present(members)
        }
        for occurrence in answer.occurrences {
            if case .present(let members) = rows[occurrence.key] { occurrence.then = members }
        }
        return answer
    }
}

extension ModelStore.Held {
    func isSame(as other: ModelStore.Held) -> Bool {
        switch (self, other) {
        case (.value(let left), .value(let right)): left.isSame(as: right)
        case (.array(let left), .array(let right)):
            left.count == right.count && zip(left, right).allSatisfy { $0.isSame(as: $1) }
        case (.object(let left), .object(let right)): left.isSame(as: right)
        case (.reference(let left), .reference(let right)): left == right
        case (.value, _), (.array, _), (.object, _), (.reference, _): false
        }
    }
}

/// An answer as it came.
final class ModelAnswer {
    /// Where something stands: names, `*` for elements, and the types of entities on the way.
    typealias Place = [String]

    private(set) var occurrences: [ModelOccurrence] = []
    /// The members seen at a place, by type, in the order of their first appearance.
    private(set) var lists: [Place: [List]] = [:]

    struct List {
        let type: String
        var names: [String] = []
    }
    private(set) var root: ModelCame = .value(.null)

    init(_ value: JSONValue) {
        root = read(value, [])
    }

    private func note(_ name: String, of type: String, at place: Place) {
        var lists = lists[place] ?? []
        let index = lists.firstIndex { $0.type == type } ?? lists.count
        if index == lists.count { lists.append(List(type: type)) }
        if !lists[index].names.contains(name) { lists[index].names.append(name) }
        self.lists[place] = lists
    }

    private func read(_ value: JSONValue, _ place: Place) -> ModelCame {
        switch value {
        case .array(let elements): return .array(elements.map { read($0, place + ["*"]) })
        case .object(let members):
            guard case .string(let type)? = value["type"], let id = value["id"],
                let key = EntityKey(type: type, id: id.string ?? id.integer.map { "\($0)" } ?? "")
            else {
                return .object(
                    members.map { member in
                        let place = place + ["member " + member.name]
                        return ModelMember(name: member.name, value: read(member.value, place))
                    }
                )
            }
            let occurrence = ModelOccurrence(key: key, type: type, place: place)
            occurrences.append(occurrence)
            for member in members {
                note(member.name, of: type, at: place)
                let value = read(member.value, occurrence.place(of: member.name))
                occurrence.members.append(ModelMember(name: member.name, value: value))
            }
            return .entity(occurrence)
        case .null, .bool, .number, .string: return .value(value)
        }
    }
}
