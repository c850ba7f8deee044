package import LarderJSON
package import LarderModel

/// The rules of an origin for one document that effects change: which objects in it are entities,
/// and the form that it starts from while nothing of it is known.
///
/// An object that an effect puts into the document *is* the entity that the rules see in it. So the
/// document shows the entity's own state, not the object as it was written. An object within such
/// an object belongs to the outer entity.
package struct DocumentRules: Sendable {
    let rules: EntityRules
    private let paths: [EntityRules.OfPath]
    /// Whether the document is an entity itself, so that its root is none that was put there.
    private let isEntity: Bool
    package let form: JSONValue?

    /// An object that an effect puts into the document or takes out of a list, and that is an
    /// entity.
    package struct Placed {
        package let key: EntityKey
        package let object: JSONValue
        /// The members of the other elements of its list.
        package fileprivate(set) var neighbours: Set<String> = []
    }

    /// A member's name or the index of an element on the way to a value.
    private struct Step {
        let text: String
        let isPosition: Bool

        init(_ name: String) { (text, isPosition) = (name, false) }

        init(position: Int) { (text, isPosition) = (String(position), true) }

        /// A token says of a position nothing but its form.
        init(token: String) {
            (text, isPosition) = (token, token == "-" || JSONPointer.index(token) != nil)
        }
    }

    /// The document under a path after the origin's base URL, without the query.
    package init(_ rules: EntityRules?, path: String, form: JSONValue? = nil) {
        self.rules = rules ?? EntityRules(NormalizeRules())
        self.form = form
        paths = rules?.paths(for: path) ?? []
        isEntity = false
    }

    /// An entity, of which a rule for a path says nothing.
    package init(ofEntity rules: EntityRules) {
        self.rules = rules
        (paths, isEntity, form) = ([], true, nil)
    }
}

// MARK: Effects

extension DocumentRules {
    /// The view of the document, with what `showing` makes of each entity that an effect puts into
    /// it; nil for a deleted one, which is left out.
    package func view<Failure: Error>(
        of base: TargetContent,
        _ effects: [Effect],
        isPart: Bool = false,
        steps: inout Int,
        showing: (Placed) throws(Failure) -> JSONValue?
    ) throws(Failure) -> View {
        var run = ViewRun(base, isPart: isPart, steps: steps, form: form)
        var gone: Set<EntityKey> = []
        for effect in effects {
            guard run.stepsLeft > 0 else {
                // Each effect that puts something into the document is left out now.
                run.add(effect)
                continue
            }
            run.add(
                try resolved(effect, on: run.content) { (placed) throws(Failure) in
                    if let shown = try showing(placed) { return shown }
                    gone.insert(placed.key)
                    return placed.object
                }
            )
        }
        if !gone.isEmpty, let value = run.content.json {
            run.show(without(gone, value, []) ?? .null)
        }
        steps = run.stepsLeft
        return run.view
    }

    /// The same with the objects as they were written.
    package func view(of base: TargetContent, _ effects: [Effect]) -> View {
        var steps = Limits.viewStepsMax
        return view(of: base, effects, steps: &steps) { $0.object }
    }

    /// The effect as it is applied to what the document is: a list has an entity once, and loses
    /// the element that is the entity.
    ///
    /// - Parameters:
    ///   - effect: An effect as the program wrote it.
    ///   - content: The document before it.
    ///   - showing: The value that the document shows for an entity.
    /// - Returns: The effect as it is applied.
    /// - Throws: The errors of `showing`.
    package func resolved<Failure: Error>(
        _ effect: Effect,
        on content: TargetContent,
        showing: (Placed) throws(Failure) -> JSONValue
    ) throws(Failure) -> Effect {
        switch effect {
        case .put(let value): return .put(try shown(value, [], showing))
        case .set(let assignments, let unset):
            let shown = try assignments.map { (assignment) throws(Failure) in
                let steps = assignment.pointer.tokens.map(Step.init(token:))
                return JSONAssignment(
                    assignment.pointer,
                    try self.shown(assignment.value, steps, showing)
                )
            }
            return .set(shown, unset: unset)
        case .patch(let operations):
            let around = neighbours(of: operations, in: content)
            return .patch(
                try operations.map { (operation) throws(Failure) in
                    try resolved(operation, beside: around, showing)
                }
            )
        case .listAdd(let changes):
            let lists = elements(at: changes.map(\.pointer), of: content)
            return .listAdd(
                try changes.map { (change) throws(Failure) in
                    try resolved(change, on: lists[change.pointer] ?? [], showing)
                }
            )
        case .listRemove(let changes):
            let lists = elements(at: changes.map(\.pointer), of: content)
            return .listRemove(changes.map { removing($0, from: lists[$0.pointer] ?? []) })
        case .all(let effects):
            var run = ViewRun(content, form: form)
            var all: [Effect] = []
            var isLeftOut = false
            for effect in effects {
                let next = try resolved(effect, on: run.content, showing: showing)
                all.append(next)
                // All of them are left out with one that does not fit.
                if !isLeftOut { isLeftOut = run.add(next) != nil }
            }
            return .all(all)
        case .merge, .add, .delete, .none, .replace: return effect
        }
    }

    /// The effect with `reference` in place of each entity, also of those that leave a list.
    func referring(_ effect: Effect, by reference: (EntityKey) -> JSONValue) -> Effect {
        if case .all(let effects) = effect {
            return .all(effects.map { referring($0, by: reference) })
        }
        guard case .listRemove(let changes) = effect else {
            return resolved(effect, on: .unknown) { reference($0.key) }
        }
        return .listRemove(
            changes.map { change in
                let steps = change.pointer.tokens.map(Step.init(token:)) + [Step(token: "-")]
                let values = change.values.map { value in
                    key(of: value, at: steps).map(reference) ?? value
                }
                return JSONListChange(change.pointer, by: change.key, values: values)
            }
        )
    }

    /// The entities that an effect puts into the document, with the objects that say so.
    package func placed(by effect: Effect) -> [Placed] {
        var found: [Placed] = []
        _ = resolved(effect, on: .unknown) { placed in
            found.append(placed)
            return placed.object
        }
        return found
    }

    /// The entities that an effect puts into the document or takes out of its lists.
    ///
    /// `content` has the elements that the effect names by a member's value alone.
    package func named(by effect: Effect, on content: TargetContent = .unknown) -> [EntityKey] {
        var found: [EntityKey] = []
        _ = referring(effect) { key in
            found.append(key)
            return .null
        }
        return found + removed(byMember: effect, from: content)
    }

    private func removed(byMember effect: Effect, from content: TargetContent) -> [EntityKey] {
        if case .all(let effects) = effect {
            return effects.flatMap { removed(byMember: $0, from: content) }
        }
        guard case .listRemove(let changes) = effect else { return [] }
        let lists = elements(at: changes.map(\.pointer), of: content)
        return changes.flatMap { change -> [EntityKey] in
            guard let name = change.key else { return [] }
            let steps = change.pointer.tokens.map(Step.init(token:)) + [Step(token: "-")]
            let values = change.values.filter { $0.members == nil }
            let named = Set(values.map { JSONIdentity($0) })
            let rows = (lists[change.pointer] ?? []).filter { element in
                element[name].map { named.contains(JSONIdentity($0)) } ?? false
            }
            // A rule for the path needs no more than the key.
            let bare = values.map { JSONValue.object([JSONMember(name: name, value: $0)]) }
            return (rows + bare).compactMap { key(of: $0, at: steps) }
        }
    }

    private func resolved<Failure: Error>(
        _ operation: JSONPatchOperation,
        beside neighbours: [JSONPointer: Set<String>],
        _ showing: (Placed) throws(Failure) -> JSONValue
    ) throws(Failure) -> JSONPatchOperation {
        switch operation {
        case .add(let path, let value):
            let around = neighbours[JSONPointer(tokens: path.tokens.dropLast())] ?? []
            let steps = path.tokens.map(Step.init(token:))
            return .add(path, try shown(value, steps, beside: around, showing))
        case .replace(let path, let value):
            return .replace(path, try shown(value, path.tokens.map(Step.init(token:)), showing))
        case .remove, .move, .copy, .test: return operation
        }
    }

    private func resolved<Failure: Error>(
        _ change: JSONListChange,
        on elements: [JSONValue],
        _ showing: (Placed) throws(Failure) -> JSONValue
    ) throws(Failure) -> JSONListChange {
        let list = change.pointer.tokens.map(Step.init(token:))
        let steps = list + [Step(token: "-")]
        guard change.values.contains(where: { key(of: $0, at: steps) != nil }) else {
            return change
        }
        let known = Set(elements.compactMap { key(of: $0, at: steps) })
        let around = neighbours(in: elements)
        var values: [JSONValue] = []
        for value in change.values {
            if let key = key(of: value, at: steps), known.contains(key) { continue }
            values.append(try shown(value, steps, beside: around, showing))
        }
        return JSONListChange(change.pointer, by: change.key, values: values)
    }

    /// The elements themselves stand for the entities that are to be removed.
    private func removing(
        _ change: JSONListChange,
        from elements: [JSONValue]
    ) -> JSONListChange {
        let steps = change.pointer.tokens.map(Step.init(token:)) + [Step(token: "-")]
        let keys = Set(change.values.compactMap { key(of: $0, at: steps) })
        guard !keys.isEmpty, change.key == nil else { return change }
        let removed = elements.filter { element in
            key(of: element, at: steps).map(keys.contains) ?? false
        }
        return JSONListChange(change.pointer, values: change.values + removed)
    }

    /// The lists at places; a place without a list is left out.
    private func elements(
        at places: [JSONPointer],
        of content: TargetContent
    ) -> [JSONPointer: [JSONValue]] {
        let value = content == .unknown ? form : content.json
        return value?.values(at: places).compactMapValues(\.elements) ?? [:]
    }

    /// The members of the elements of each list to which operations add an entity.
    private func neighbours(
        of operations: [JSONPatchOperation],
        in content: TargetContent
    ) -> [JSONPointer: Set<String>] {
        let lists = operations.compactMap { operation -> JSONPointer? in
            guard case .add(let path, let value) = operation,
                key(of: value, at: path.tokens.map(Step.init(token:))) != nil
            else { return nil }
            return JSONPointer(tokens: path.tokens.dropLast())
        }
        return elements(at: lists, of: content).mapValues { neighbours(in: $0) }
    }

    private func neighbours(in elements: [JSONValue]) -> Set<String> {
        var names: Set<String> = []
        for element in elements.prefix(Limits.neighboursMax) {
            names.formUnion((element.members ?? []).map(\.name))
        }
        return names
    }
}

// MARK: Objects

extension DocumentRules {
    private func shown<Failure: Error>(
        _ value: JSONValue,
        _ steps: [Step],
        beside neighbours: Set<String> = [],
        _ showing: (Placed) throws(Failure) -> JSONValue
    ) throws(Failure) -> JSONValue {
        switch value {
        case .array(let elements):
            var shown: [JSONValue] = []
            for (position, element) in elements.enumerated() {
                let next = steps + [Step(position: position)]
                shown.append(try self.shown(element, next, showing))
            }
            return .array(shown)
        case .object(let members):
            if let key = key(of: value, at: steps) {
                return try showing(Placed(key: key, object: value, neighbours: neighbours))
            }
            var shown: [JSONMember] = []
            for member in members {
                let value = try self.shown(member.value, steps + [Step(member.name)], showing)
                shown.append(JSONMember(name: member.name, value: value))
            }
            return .object(shown)
        case .null, .bool, .number, .string: return value
        }
    }

    /// A value without these entities, which are deleted; nil where the value is one of them.
    private func without(
        _ gone: Set<EntityKey>,
        _ value: JSONValue,
        _ steps: [Step]
    ) -> JSONValue? {
        switch value {
        case .array(let elements):
            return .array(
                elements.enumerated().compactMap { position, element in
                    without(gone, element, steps + [Step(position: position)])
                }
            )
        case .object(let members):
            if let key = key(of: value, at: steps), gone.contains(key) { return nil }
            return .object(
                members.compactMap { member in
                    let inner = without(gone, member.value, steps + [Step(member.name)])
                    if inner == nil, isOmitted(member.value, steps + [Step(member.name)]) {
                        return nil
                    }
                    return JSONMember(name: member.name, value: inner ?? .null)
                }
            )
        case .null, .bool, .number, .string: return value
        }
    }

    private func isOmitted(_ value: JSONValue, _ steps: [Step]) -> Bool {
        guard let key = key(of: value, at: steps) else { return false }
        return rules.types[Array(key.type.utf8)]?.onDeleted == .omit
    }

    /// The places of entities in a value of the document, in its order; at most so many.
    package func places(
        of keys: Set<EntityKey>,
        in value: JSONValue,
        atMost most: Int
    ) -> [(pointer: JSONPointer, key: EntityKey)] {
        var found: [(pointer: JSONPointer, key: EntityKey)] = []
        func look(_ value: JSONValue, _ steps: [Step]) {
            guard found.count < most else { return }
            switch value {
            case .array(let elements):
                for (position, element) in elements.enumerated() {
                    look(element, steps + [Step(position: position)])
                }
            case .object(let members):
                if let key = key(of: value, at: steps), keys.contains(key) {
                    found.append((JSONPointer(tokens: steps.map(\.text)), key))
                }
                for member in members { look(member.value, steps + [Step(member.name)]) }
            case .null, .bool, .number, .string: return
            }
        }
        look(value, [])
        return found
    }
}

// MARK: Keys

extension DocumentRules: EntityRecognizing {
    func member(_ name: [UInt8], of value: JSONValue) -> JSONValue? {
        value[String(decoding: name, as: UTF8.self)]
    }

    func typeText(_ value: JSONValue) -> [UInt8]? {
        value.string.flatMap { $0.isEmpty ? nil : Array($0.utf8) }
    }

    func keyText(_ value: JSONValue) -> [UInt8]? {
        guard case .number(let number) = value else { return typeText(value) }
        let text = Array(number.text.utf8)
        return EntityRecognition.isInteger(text) ? text : nil
    }

    private func key(of value: JSONValue, at steps: [Step]) -> EntityKey? {
        guard case .object = value, !(isEntity && steps.isEmpty) else { return nil }
        let rule = paths.first { fits($0.at, steps) }
        guard case .entity(let key, _) = verdict(on: value, by: rule) else { return nil }
        return key
    }

    private func fits(_ pattern: [[UInt8]], _ steps: [Step]) -> Bool {
        guard pattern.count == steps.count else { return false }
        return zip(pattern, steps).allSatisfy { token, step in
            step.isPosition && token == [UInt8(ascii: "*")] || step.text.utf8.elementsEqual(token)
        }
    }
}

extension ModifierRules {
    /// The form of a target, by its path after the base URL, while nothing of it is known.
    package func form(forPath path: String) -> JSONValue? {
        let segments = path.split(separator: "/", omittingEmptySubsequences: false)
        let form = empty.first { form in
            let pattern = PercentCoding.path(form.path)
                .split(separator: "/", omittingEmptySubsequences: false)
            return pattern.count == segments.count
                && zip(pattern, segments).allSatisfy { pattern, segment in
                    pattern == "*" ? !segment.isEmpty : pattern.utf8.elementsEqual(segment.utf8)
                }
        }
        return form.flatMap { try? JSONValue(parsing: Array($0.form.utf8)) }
    }
}
