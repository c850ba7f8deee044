extension JSONWriter {
    /// Writes a value in its one compact spelling; numbers as they came.
    package mutating func value(_ value: JSONValue) {
        switch value {
        case .null: null()
        case .bool(let bool): self.bool(bool)
        case .number(let number): verbatim(number.text.utf8)
        case .string(let text): string(text)
        case .array(let elements):
            beginArray()
            for element in elements { self.value(element) }
            endArray()
        case .object(let members):
            beginObject()
            for member in members {
                name(member.name)
                self.value(member.value)
            }
            endObject()
        }
    }
}

extension JSONValue {
    /// The compact spelling of the value; numbers keep their text.
    package var bytes: [UInt8] {
        var json = JSONWriter()
        json.value(self)
        return json.bytes
    }
}
