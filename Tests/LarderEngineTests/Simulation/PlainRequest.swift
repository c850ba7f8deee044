import LarderJSON
import LarderWire

/// A request as a server reads it that knows nothing of modifiers.
enum PlainRequest: Hashable {
    case put(PlainValue)
    case merge([String: PlainValue.Member?])
    case patch([Operation])
    case delete
    /// A POST with the new object.
    case create(PlainValue)
    /// A request that no server of the simulation understands.
    case unreadable(String)

    enum Operation: Hashable {
        case test(String, Int)
        case replace(String, Int)
        case append(String, Int)
    }

    /// Nil for a POST whose body says nothing about a target.
    init?(_ method: String, type: String?, body: [UInt8]) {
        switch method {
        case "DELETE": self = .delete
        case "PUT":
            guard let value = PlainValue(parsing: body) else { fallthrough }
            self = .put(value)
        case "PATCH" where type.map(MediaType.isMergePatch) == true:
            guard let members = Self.members(body) else { fallthrough }
            self = .merge(members)
        case "PATCH" where type.map(MediaType.isJSONPatch) == true:
            guard let operations = Self.operations(body) else { fallthrough }
            self = .patch(operations)
        case "POST":
            guard type.map(MediaType.isAnyJSON) == true else { return nil }
            guard let value = PlainValue(parsing: body) else { fallthrough }
            self = .create(value)
        default: self = .unreadable("\(method) \(String(decoding: body, as: UTF8.self))")
        }
    }

    private static func members(_ body: [UInt8]) -> [String: PlainValue.Member?]? {
        guard let json = try? JSONValue(parsing: body), case .object(let found) = json else {
            return nil
        }
        var members: [String: PlainValue.Member?] = [:]
        for member in found {
            if case .null = member.value {
                members[member.name] = .some(nil)
                continue
            }
            let single = JSONValue.object([member])
            guard let value = PlainValue(parsing: single.bytes) else { return nil }
            if let known = value.members[member.name] { members[member.name] = known }
        }
        return members
    }

    private static func operations(_ body: [UInt8]) -> [Operation]? {
        guard let json = try? JSONValue(parsing: body), case .array(let found) = json else {
            return nil
        }
        var operations: [Operation] = []
        for operation in found {
            guard case .string(let name)? = operation["op"],
                case .string(let path)? = operation["path"], path.hasPrefix("/"),
                case .number(let text)? = operation["value"], let number = Int(text.text)
            else { return nil }
            let member = String(path.dropFirst())
            switch name {
            case "test": operations.append(.test(member, number))
            case "replace": operations.append(.replace(member, number))
            case "add" where member.hasSuffix("/-"):
                operations.append(.append(String(member.dropLast(2)), number))
            default: return nil
            }
        }
        return operations
    }

    /// Whether a repetition does no more than the first one.
    var isRepeatable: Bool {
        switch self {
        case .put, .merge, .delete: true
        case .patch, .create, .unreadable: false
        }
    }

    /// Nil where a server refuses it.
    func applied(to view: PlainView) -> PlainView? {
        switch self {
        case .put(let value), .create(let value): return .value(value, isComplete: true)
        case .delete: return .deleted
        case .merge(let members):
            guard case .value(var value, let isComplete) = view else { return nil }
            for (name, member) in members { value.members[name] = member }
            return .value(value, isComplete: isComplete)
        case .patch(let operations):
            guard case .value(var value, let isComplete) = view else { return nil }
            for operation in operations {
                switch operation {
                case .test(let name, let number):
                    guard value.members[name] == .number(number) else { return nil }
                case .replace(let name, let number):
                    guard value.members[name] != nil else { return nil }
                    value.members[name] = .number(number)
                case .append(let name, let number):
                    guard case .list(let list)? = value.members[name] else { return nil }
                    value.members[name] = .list(list + [number])
                }
            }
            return .value(value, isComplete: isComplete)
        case .unreadable: return nil
        }
    }

    /// Whether it does what writes do one after the other, whatever the server has.
    func makes(_ writes: [PlainModifier]) -> Bool {
        let effects = writes.compactMap { $0.sent?.effect }
        guard let first = writes.first, effects.count == writes.count else { return false }
        if case .create = self {
            guard first.isCreate else { return false }
        } else {
            guard !first.isCreate else { return false }
        }
        return Self.samples.allSatisfy { view in
            applied(to: view) == PlainEffect.together(effects, on: view)
        }
    }

    private static let samples: [PlainView] =
        [.deleted]
        + [
            [:], ["count": .number(1)], ["liked": .number(1), "tags": .list([])],
            ["count": .number(7), "liked": .number(0), "tags": .list([2, 3])],
        ].map { .value(PlainValue($0), isComplete: true) }
}

extension PlainEffect {
    /// Whether what was there before does not count.
    var isWhole: Bool {
        switch self {
        case .put, .delete: true
        case .merge, .set, .add, .patch, .append, .listAdd, .addObject, .place, .none: false
        }
    }

    /// A value after several effects in their order; nil if a counted effect does not fit.
    static func together(_ effects: [PlainEffect], on view: PlainView) -> PlainView? {
        let first = effects.lastIndex(where: \.isWhole) ?? 0
        return effects[first...].reduce(view) { view, effect in
            view.flatMap { effect.applied(to: $0) }
        }
    }
}
