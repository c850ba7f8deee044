import LarderJSON
import LarderModel
import LarderNormalize

/// Shows an answer by the letter of the design; see ``ModelStore``.
struct ModelShow {
    typealias Place = ModelAnswer.Place

    enum Outcome {
        case shown(JSONValue)
        case deleted
        case evicted
    }

    private enum Stop: Error {
        /// What holds it counts as deleted, too.
        case deleted
        case evicted
    }

    private let store: ModelStore
    private let answer: ModelAnswer
    private let isPartial: Bool
    /// Whether nothing that is shown has another value than when it came.
    private(set) var isUntouched = true
    private(set) var missingCount = 0
    /// Whether a member has had another value and has the old one again, which may be spelled
    /// otherwise now: the slot's own bytes count or not.
    private(set) var hasReturned = false

    init(_ answer: ModelAnswer, in store: ModelStore, isPartial: Bool) {
        self.answer = answer
        self.store = store
        self.isPartial = isPartial
    }

    mutating func outcome() -> Outcome {
        do {
            if case .entity(let occurrence) = answer.root {
                return .shown(try show(occurrence))
            }
            return .shown(try show(answer.root))
        } catch Stop.deleted {
            return .deleted
        } catch {
            return .evicted
        }
    }

    private mutating func show(_ came: ModelCame) throws -> JSONValue {
        switch came {
        case .value(let value): return value
        case .array(let elements):
            var shown: [JSONValue] = []
            for element in elements {
                guard case .entity(let occurrence) = element else {
                    shown.append(try show(element))
                    continue
                }
                if let value = try child(
                    occurrence.key,
                    isElement: true,
                    { model in
                        try model.show(occurrence)
                    }
                ) {
                    shown.append(value)
                }
            }
            return .array(shown)
        case .object(let members):
            var shown: [JSONMember] = []
            for member in members {
                guard let value = try show(member: member.value) else { continue }
                shown.append(JSONMember(name: member.name, value: value))
            }
            return .object(shown)
        case .entity(let occurrence): return try show(occurrence)
        }
    }

    private mutating func show(member came: ModelCame) throws -> JSONValue? {
        guard case .entity(let occurrence) = came else { return try show(came) }
        return try child(occurrence.key, isElement: false) { try $0.show(occurrence) }
    }

    /// What stands where an entity is to be shown; nil where it is left out.
    private mutating func child(
        _ key: EntityKey,
        isElement: Bool,
        _ body: (inout ModelShow) throws -> JSONValue
    ) throws -> JSONValue? {
        let missing = missingCount
        do {
            return try body(&self)
        } catch Stop.evicted where isPartial {
            isUntouched = false
            missingCount += 1
            return .null
        } catch Stop.deleted {
            isUntouched = false
            missingCount = missing
            guard !isElement else { return nil }
            switch store.deletionRules[key.type] ?? .null {
            case .null: return .null
            case .omit: return nil
            case .cascade: throw Stop.deleted
            }
        }
    }

    private func members(of key: EntityKey) throws -> ModelStore.Members {
        switch store.rows[key] {
        case nil: throw Stop.evicted
        case .deleted: throw Stop.deleted
        case .present(let members): return members
        }
    }
}

extension ModelShow {
    private mutating func show(_ occurrence: ModelOccurrence) throws -> JSONValue {
        let now = try members(of: occurrence.key)
        var shown: [JSONMember] = []
        for name in occurrence.members.map(\.name).unique {
            let values = occurrence.values(of: name)
            guard let came = values.last else { continue }
            let value: JSONValue?
            switch now[name] {
            case nil:
                isUntouched = false
                missingCount += 1
                continue
            case let held? where held == occurrence.then[name]:
                if now.hasChanged(name, since: occurrence.then) { hasReturned = true }
                // Of a name that comes twice the other values are shown, too.
                for earlier in values.dropLast() { _ = try show(member: earlier) }
                value = try show(member: came)
            case let held?:
                isUntouched = false
                var there = came.outermost[...]
                value = try show(
                    member: held,
                    at: [occurrence.place(of: name)],
                    came.outermost,
                    &there
                )
            }
            if let value { shown.append(JSONMember(name: name, value: value)) }
        }
        let list = answer.lists[occurrence.place]?.first { $0.type == occurrence.type }
        let added = now.names.filter { name in
            occurrence.values(of: name).isEmpty && list?.names.contains(name) == true
        }
        for name in added {
            if now[name] == occurrence.then[name], now.hasChanged(name, since: occurrence.then) {
                hasReturned = true
            }
            guard let held = now[name], held != occurrence.then[name] else { continue }
            isUntouched = false
            var there: ArraySlice<ModelOccurrence> = []
            let place = occurrence.place(of: name)
            if let value = try show(member: held, at: [place], [], &there) {
                shown.append(JSONMember(name: name, value: value))
            }
        }
        return .object(shown)
    }

    /// A value as it is held now; `there` are the entities that stood in it when it came.
    private mutating func show(
        _ held: ModelStore.Held,
        at places: [Place],
        _ all: [ModelOccurrence],
        _ there: inout ArraySlice<ModelOccurrence>
    ) throws -> JSONValue {
        switch held {
        case .value(let value): return value
        case .array(let elements):
            var shown: [JSONValue] = []
            for element in elements {
                let places = places.map { $0 + ["*"] }
                guard case .reference(let key) = element else {
                    shown.append(try show(element, at: places, all, &there))
                    continue
                }
                if let value = try show(key, isElement: true, at: places, all, &there) {
                    shown.append(value)
                }
            }
            return .array(shown)
        case .object(let members):
            var shown: [JSONMember] = []
            for name in members.names {
                guard let value = members[name] else { continue }
                let places = places.map { $0 + ["member " + name] }
                guard let value = try show(member: value, at: places, all, &there) else {
                    continue
                }
                shown.append(JSONMember(name: name, value: value))
            }
            return .object(shown)
        case .reference: preconditionFailure("references are members or elements")
        }
    }

    private mutating func show(
        member held: ModelStore.Held,
        at places: [Place],
        _ all: [ModelOccurrence],
        _ there: inout ArraySlice<ModelOccurrence>
    ) throws -> JSONValue? {
        guard case .reference(let key) = held else {
            return try show(held, at: places, all, &there)
        }
        return try show(key, isElement: false, at: places, all, &there)
    }

    private mutating func show(
        _ key: EntityKey,
        isElement: Bool,
        at places: [Place],
        _ all: [ModelOccurrence],
        _ there: inout ArraySlice<ModelOccurrence>
    ) throws -> JSONValue? {
        // Who stood in this value is shown as there: by its turn, or else as it stood there first.
        if there.first?.key != key, let first = all.firstIndex(where: { $0.key == key }) {
            there = all[first...]
        }
        if let occurrence = there.first, occurrence.key == key {
            there.removeFirst()
            return try child(key, isElement: isElement) { try $0.show(occurrence) }
        }
        return try child(key, isElement: isElement) { try $0.show(newcomer: key, at: places) }
    }

    private mutating func show(newcomer key: EntityKey, at places: [Place]) throws -> JSONValue {
        let now = try members(of: key)
        let lists = places.flatMap { place in
            (answer.lists[place] ?? []).map { (place: place, list: $0) }
        }
        let own = lists.filter { $0.list.type == key.type }
        var order: [String] = []
        var names: [String: [Place]] = [:]
        for (place, list) in own.isEmpty ? lists : own {
            for name in list.names {
                order.append(name)
                names[name, default: []].append(place + ["type " + list.type, "member " + name])
            }
        }
        guard !names.isEmpty else {
            missingCount += 1
            return .object([])
        }
        var shown: [JSONMember] = []
        for name in order.unique {
            guard let held = now[name], let places = names[name] else {
                missingCount += 1
                continue
            }
            var there: ArraySlice<ModelOccurrence> = []
            if let value = try show(member: held, at: places, [], &there) {
                shown.append(JSONMember(name: name, value: value))
            }
        }
        return .object(shown)
    }
}
