extension Effect {
    /// As it travels and as it is stored, numbers as they were written.
    package var bytes: [UInt8] {
        var json = JSONWriter()
        json.effect(self)
        return json.bytes
    }
}

extension JSONWriter {
    /// Writes `{"type": …, "value": …}`.
    package mutating func effect(_ effect: Effect) {
        if case .all(let effects) = effect {
            beginArray()
            for effect in effects { self.effect(effect) }
            return endArray()
        }
        object { json in
            json.member("type", effect.typeName)
            switch effect {
            case .delete, .none, .replace, .all: return
            case .put(let value), .merge(let value):
                json.name("value")
                json.value(value)
            case .patch(let operations):
                json.name("value")
                json.patch(operations)
            case .set(let assignments, let unset):
                json.member("value") { json in
                    json.member("set") { json in
                        for assignment in assignments {
                            json.name(assignment.pointer.text)
                            json.value(assignment.value)
                        }
                    }
                    json.member("unset", unset.map(\.text))
                }
            case .add(let additions):
                json.member("value") { json in
                    for addition in additions {
                        json.name(addition.pointer.text)
                        json.value(.number(addition.number))
                    }
                }
            case .listAdd(let changes), .listRemove(let changes):
                json.member("value") { json in
                    for change in changes { json.listChange(change) }
                }
            }
        }
    }

    /// Writes a JSON Patch document, as the body of a request has it too.
    package mutating func patch(_ operations: [JSONPatchOperation]) {
        beginArray()
        for operation in operations {
            object { $0.operation(operation) }
        }
        endArray()
    }

    private mutating func operation(_ operation: JSONPatchOperation) {
        switch operation {
        case .add(_, let value): self.operation("add", operation.path, value: value)
        case .remove: self.operation("remove", operation.path)
        case .replace(_, let value): self.operation("replace", operation.path, value: value)
        case .move(let from, _): self.operation("move", operation.path, from: from)
        case .copy(let from, _): self.operation("copy", operation.path, from: from)
        case .test(_, let value): self.operation("test", operation.path, value: value)
        }
    }

    private mutating func operation(
        _ name: String,
        _ path: JSONPointer,
        from: JSONPointer? = nil,
        value: JSONValue? = nil
    ) {
        member("op", name)
        if let from { member("from", from.text) }
        member("path", path.text)
        if let value {
            self.name("value")
            self.value(value)
        }
    }

    private mutating func listChange(_ change: JSONListChange) {
        name(change.pointer.text)
        guard let key = change.key else {
            value(.array(change.values))
            return
        }
        object { json in
            json.member("by", key)
            json.name("values")
            json.value(.array(change.values))
        }
    }
}
