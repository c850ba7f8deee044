/// Members of a target that writes touch: the first of each path.
enum PlainTouched: Hashable {
    case members(Set<String>)
    case all

    var isEmpty: Bool { self == .members([]) }

    func contains(_ name: String) -> Bool {
        switch self {
        case .all: true
        case .members(let names): names.contains(name)
        }
    }

    func isSubset(of other: PlainTouched) -> Bool {
        switch (self, other) {
        case (_, .all): true
        case (.all, .members): false
        case (.members(let names), .members(let others)): names.isSubset(of: others)
        }
    }
}

extension PlainEffect {
    var touched: PlainTouched {
        switch self {
        case .put, .delete: .all
        case .merge(let name, _), .set(let name, _), .add(let name, _), .patch(let name, _, _),
            .append(let name, _), .listAdd(let name, _):
            .members([name])
        case .addObject: .members(["items"])
        case .place(let object): .members(Set(object.members.keys))
        case .none: .members([])
        }
    }

    var isPlace: Bool { if case .place = self { true } else { false } }
}

/// The inputs by which writes have last touched a target.
struct PlainTouches: Hashable {
    private var whole = 0
    private var members: [String: Int] = [:]

    mutating func note(_ touched: PlainTouched, at input: Int) {
        switch touched {
        case .all: whole = max(whole, input)
        case .members(let names): for name in names { members[name, default: 0] = input }
        }
    }

    var moments: [Int] { [whole] + members.values }

    func touched(after input: Int) -> PlainTouched {
        whole > input ? .all : .members(Set(members.filter { $0.value > input }.keys))
    }
}

extension PlainQueue {
    /// What writes have touched since a read set out, each that it may be (P-06, case 8).
    func touched(_ path: String, _ reading: PlainReading) -> [PlainTouched] {
        var found: [PlainTouched] = []
        for moment in moments(of: [path], reading) {
            let touched = touched(path, reading, after: moment)
            if !found.contains(touched) { found.append(touched) }
        }
        return found
    }

    /// The inputs that may have been the last one before a read set out, the latest first.
    func moments(of paths: [String], _ reading: PlainReading) -> [Int] {
        let (first, last) = (reading.since.quiet, reading.since.input)
        let open = paths.flatMap { touches($0, reading) }.flatMap(\.moments)
            .filter { first < $0 && $0 <= last }.map { $0 - 1 }
        return [last] + open.sorted(by: >)
    }

    /// The members of a target that writes have touched after an input.
    func touched(
        _ path: String,
        _ reading: PlainReading,
        after moment: Int
    ) -> PlainTouched {
        touches(path, reading).map { $0.touched(after: moment) }
            .reduce(PlainTouched.members([])) { $0.union($1) }
    }

    private func touches(_ path: String, _ reading: PlainReading) -> [PlainTouches] {
        guard holds(.overtakenReadIsLate) else { return [] }
        let others = reading.user == nil ? rows.confirmations[path] : ownConfirmations[path]
        return [confirmations[path], others].compactMap { $0 }
    }

    /// Whether a write overtook a read that set out then; nil where it may have.
    func isOvertaken(_ path: String, _ reading: PlainReading) -> Bool? {
        let touched = touched(path, reading)
        guard touched.contains(where: \.isEmpty) else { return true }
        return touched.count == 1 ? false : nil
    }

    /// The queues that this may be with what an overtaken answer says beside what was touched: this
    /// one where nothing of it can be used.
    func mixed(
        _ path: String,
        _ said: Base,
        _ reading: PlainReading,
        _ touched: PlainTouched,
        _ input: Int,
        isNew: Bool = true
    ) -> [PlainQueue] {
        rows.places(path, reading, input).flatMap { place in
            var after = self
            switch place {
            case .own:
                // A late answer of an entity's own URL is there all the same.
                let late = hasEntities && touched == .all && isNew ? lateAnswer(path) : []
                guard rows.hasOwn(path), let mix = mix(base(path), said, touched) else {
                    return [self] + late
                }
                after.settle(path, on: mix, touching: touched, isNew: isNew)
                after.rows.store(path, input)
                return [after]
            case .shared where rows.hasOwn(path):
                guard let mix = rows.behind[path].flatMap({ mix($0, said, touched) }) else {
                    return [self]
                }
                after.rows.behind[path] = mix
                return [after]
            case .shared:
                guard let mix = mix(base(path), said, touched) else { return [self] }
                after.settle(path, on: mix, touching: touched, isNew: isNew)
                return [after]
            case .hidden:
                if rows.hasOwn(path) {
                    after.rows.behind[path] = nil
                } else {
                    after.set(path, .unknown)
                }
                return after == self ? [self] : [self, after]
            }
        }
    }

    func mix(_ base: Base, _ said: Base, _ touched: PlainTouched) -> Base? {
        guard touched != .all, let known = Self.view(base).value, case .value(var mix) = said,
            hasEntities || mix.members.keys.contains(where: { !touched.contains($0) })
        else { return nil }
        for name in PlainValue.names where touched.contains(name) {
            mix.members[name] = known.members[name]
        }
        if case .part = base { return .part(mix) }
        return .value(mix)
    }
}

extension PlainTouched {
    fileprivate func union(_ other: PlainTouched) -> PlainTouched {
        guard case .members(let names) = self, case .members(let others) = other else {
            return .all
        }
        return .members(names.union(others))
    }
}
