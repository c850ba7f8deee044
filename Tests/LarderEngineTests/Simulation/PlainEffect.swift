import LarderJSON

/// What a target shows, by the model.
enum PlainView: Hashable {
    /// Nothing is known, and nothing shows.
    case unknown
    case deleted
    case value(PlainValue, isComplete: Bool)

    var value: PlainValue? { if case .value(let value, _) = self { value } else { nil } }
}

/// An effect, and what it does by the letter of the design.
enum PlainEffect: Hashable {
    case put(PlainValue)
    case merge(String, PlainValue.Member?)
    case set(String, PlainValue.Member)
    case add(String, Int)
    /// Replaces a number, if it is the one that is expected.
    case patch(String, expected: Int, Int)
    /// Adds to the end of a list, whatever is in it.
    case append(String, Int)
    case listAdd(String, [Int])
    /// Adds an object that is an entity to the list. With a form, an unknown list counts as empty.
    case addObject(id: String, PlainValue, hasForm: Bool)
    /// Lays the members of such an object over its entity.
    case place(PlainValue)
    case delete
    case none

    /// Whether a second application gives another value.
    var counts: Bool {
        switch self {
        case .add, .patch, .append: true
        case .put, .merge, .set, .listAdd, .addObject, .place, .delete, .none: false
        }
    }

    /// Nil where it does not fit.
    func applied(to view: PlainView) -> PlainView? {
        switch (self, view) {
        case (.none, _): return view
        case (.put(let value), _): return .value(value, isComplete: true)
        case (.delete, .unknown): return nil
        case (.delete, _): return .deleted
        case (_, .deleted): return nil
        case (.merge, .unknown), (.set, .unknown), (.place, .unknown):
            return applied(to: PlainValue(), isComplete: false)
        case (.addObject(_, _, hasForm: true), .unknown):
            return applied(to: PlainValue(["items": .ids([])]), isComplete: false)
        case (_, .unknown): return nil
        case (_, .value(let value, let isComplete)):
            return applied(to: value, isComplete: isComplete)
        }
    }

    private func applied(to value: PlainValue, isComplete: Bool) -> PlainView? {
        var value = value
        switch self {
        case .merge(let name, let member): value.members[name] = member
        case .set(let name, let member): value.members[name] = member
        case .add(let name, let number):
            guard case .number(let old)? = value.members[name] else { return nil }
            value.members[name] = .number(old + number)
        case .patch(let name, let expected, let new):
            guard value.members[name] == .number(expected) else { return nil }
            value.members[name] = .number(new)
        case .append(let name, let number):
            guard case .list(let list)? = value.members[name] else { return nil }
            value.members[name] = .list(list + [number])
        case .listAdd(let name, let numbers):
            var list: [Int]
            switch value.members[name] {
            case .list(let old): list = old
            case .number, .ids, .rows: return nil
            case nil where isComplete: list = []
            // Nobody knows what else is in it.
            case nil: return nil
            }
            for number in numbers where !list.contains(number) { list.append(number) }
            value.members[name] = .list(list)
        case .addObject(let id, _, _):
            guard case .ids(let ids)? = value.members["items"] else { return nil }
            value.members["items"] = .ids(ids.contains(id) ? ids : ids + [id])
        case .place(let object): value.members.merge(object.members) { $1 }
        case .put, .delete, .none: break
        }
        return .value(value, isComplete: isComplete)
    }

    /// The effect as the engine takes it, of an entity or of none.
    func effect(of entity: String?) -> Effect {
        switch self {
        case .put(let value): .put(value.json(of: entity))
        case .merge(let name, let member):
            .merge(.object([JSONMember(name: name, value: member?.json ?? .null)]))
        case .set(let name, let member): .set([JSONAssignment(Self.pointer(name), member.json)])
        case .add(let name, let number):
            .add([JSONAddition(Self.pointer(name), JSONNumber(Int64(number)))])
        case .patch(let name, let expected, let new):
            .patch([
                .test(Self.pointer(name), PlainValue.Member.number(expected).json),
                .replace(Self.pointer(name), PlainValue.Member.number(new).json),
            ])
        case .append(let name, let number):
            .patch([
                .add(JSONPointer(tokens: [name, "-"]), PlainValue.Member.number(number).json)
            ])
        case .listAdd(let name, let numbers):
            .listAdd([
                JSONListChange(
                    Self.pointer(name),
                    values: numbers.map { .number(JSONNumber(Int64($0))) }
                )
            ])
        case .addObject(let id, let object, _):
            .listAdd([JSONListChange(Self.pointer("items"), values: [object.json(of: id)])])
        // The list's effect says it.
        case .place, .none: .none
        case .delete: .delete
        }
    }

    private static func pointer(_ name: String) -> JSONPointer { JSONPointer(tokens: [name]) }
}
