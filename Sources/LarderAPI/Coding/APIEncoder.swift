package import LarderJSON
import LarderModel

/// Writes values of the API as compact JSON.
///
/// Members come in the order in which the type declares them, their names in snake_case:
/// `baseURL` is `base_url`. An optional without a value is `null`, unless its property is
/// ``OmittedWhenNil``. ``RawJSON`` is written as it is, a `Duration` as a number and its unit:
/// `300ms`. A number that is not finite is `null`.
///
/// A dictionary has no order; ``NamedValues`` takes its place.
package struct APIEncoder {
    package init() {}

    package func encode(_ value: some Encodable) -> [UInt8] {
        var json = JSONWriter()
        encode(value, to: &json)
        return json.bytes
    }

    /// Writes an object as a query, without the `?`; what is null or empty is left out.
    ///
    /// An array becomes a parameter that is repeated.
    package func query(_ value: some Encodable) -> String {
        guard let members = (try? JSONValue(parsing: encode(value)))?.members else {
            preconditionFailure("\(type(of: value)) is not an object")
        }
        return members.flatMap { member in
            (member.value.elements ?? [member.value]).compactMap { Self.word($0) }.map { word in
                "\(member.name)=\(PercentCoding.encode(word))"
            }
        }.joined(separator: "&")
    }

    private static func word(_ value: JSONValue) -> String? {
        switch value {
        case .null: nil
        case .bool(let bool): bool ? "true" : "false"
        case .number(let number): number.text
        case .string(let text): text
        case .array, .object: preconditionFailure("a query has no objects")
        }
    }

    /// Writes `value` where the writer takes a value: after a name, or in an array.
    package func encode(_ value: some Encodable, to json: inout JSONWriter) {
        let state = EncodingState(json)
        defer { state.giveNamesBack() }
        json = JSONWriter()
        do {
            try state.write(value)
        } catch {
            // Our types throw nothing, and neither do the containers.
            preconditionFailure("\(type(of: value)) does not encode: \(error)")
        }
        json = state.json
    }
}

/// A coder or container without a coding path: of a decoder, ``WirePath`` says where a value is.
protocol PathlessCoder {}

extension PathlessCoder {
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }
}

/// The writer and its open objects and arrays.
///
/// A container has no end of its own. It ends when its value is written, or when the container
/// around it goes on: a nested container that is written to after that is a mistake, and a
/// precondition.
final class EncodingState {
    enum Container {
        case object
        case array
    }

    // Of one encoder, which one task uses: checks of each access took a tenth of the time.
    @exclusivity(unchecked) var json: JSONWriter
    @exclusivity(unchecked) private(set) var open: [Container] = []
    private var names = NamesOfTypes.taken()

    init(_ json: JSONWriter) { self.json = json }

    /// Leaves the names to the next encoder or decoder; this one is not used after it.
    func giveNamesBack() { names.giveBack() }

    func write<Value: Encodable>(_ value: Value) throws {
        if writePlain(value) { return }
        let depth = open.count
        try value.encode(to: ValueEncoder(state: self, depth: depth))
        end(to: depth)
    }

    /// Writes what needs no container; false for others.
    ///
    /// Types are compared first: a cast costs ten times as much.
    private func writePlain<Value>(_ value: Value) -> Bool {
        if Value.self == Timestamp.self, let moment = value as? Timestamp {
            json.string(moment.text)
        } else if Value.self == String.self, let text = value as? String {
            json.string(text)
        } else if Value.self == Duration.self, let duration = value as? Duration {
            json.string(duration.unitText)
        } else if Value.self == RawJSON.self, let raw = value as? RawJSON {
            json.verbatim(raw.bytes)
        } else {
            return false
        }
        return true
    }

    func begin(_ container: Container) {
        switch container {
        case .object: json.beginObject()
        case .array: json.beginArray()
        }
        open.append(container)
    }

    /// Ends the containers that are open within the first `depth`.
    func end(to depth: Int) {
        precondition(open.count >= depth, "a container is written to after its end")
        while open.count > depth {
            switch open.removeLast() {
            case .object: json.endObject()
            case .array: json.endArray()
            }
        }
    }

    func names<Key: CodingKey>(of type: Key.Type) -> MemberNames { names.names(of: type) }
}

private struct ValueEncoder: Encoder, PathlessCoder {
    let state: EncodingState
    /// The containers that are open around the value.
    let depth: Int

    /// A second call gives the same object, so that a value can put another's members among its
    /// own.
    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        begin(.object)
        let names = state.names(of: type)
        let object = ObjectEncoding<Key>(state: state, depth: depth + 1, names: names)
        return KeyedEncodingContainer(object)
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        begin(.array)
        return ArrayEncoding(state: state, depth: depth + 1)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { SingleEncoding(state: state) }

    private func begin(_ container: EncodingState.Container) {
        guard state.open.count > depth else { return state.begin(container) }
        precondition(state.open[depth] == container, "a value is an object and an array")
    }
}

private struct ObjectEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol, PathlessCoder {
    let state: EncodingState
    let depth: Int
    let names: MemberNames

    private func name(_ key: Key) {
        state.end(to: depth)
        state.json.name(encoded: names.encoded(key))
    }

    func encodeNil(forKey key: Key) {
        name(key)
        state.json.null()
    }

    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        name(key)
        try state.write(value)
    }

    // The usual types, which most members have, without the way through a generic function.

    func encode(_ value: String, forKey key: Key) {
        name(key)
        state.json.string(value)
    }

    func encode(_ value: Bool, forKey key: Key) {
        name(key)
        state.json.bool(value)
    }

    func encode(_ value: Int, forKey key: Key) {
        name(key)
        state.json.integer(value)
    }

    func encode(_ value: Int64, forKey key: Key) {
        name(key)
        state.json.integer(value)
    }

    func encode(_ value: Double, forKey key: Key) {
        name(key)
        state.json.double(value)
    }

    // Null in place of a value. Without one for each type the standard library's would be taken,
    // which leaves the member out.

    func encodeIfPresent<Value: Encodable>(_ value: Value?, forKey key: Key) throws {
        if let value { try encode(value, forKey: key) } else { encodeNil(forKey: key) }
    }

    func encodeIfPresent(_ value: String?, forKey key: Key) {
        if let value { encode(value, forKey: key) } else { encodeNil(forKey: key) }
    }

    func encodeIfPresent(_ value: Bool?, forKey key: Key) {
        if let value { encode(value, forKey: key) } else { encodeNil(forKey: key) }
    }

    func encodeIfPresent(_ value: Int?, forKey key: Key) {
        if let value { encode(value, forKey: key) } else { encodeNil(forKey: key) }
    }

    func encodeIfPresent(_ value: Int64?, forKey key: Key) {
        if let value { encode(value, forKey: key) } else { encodeNil(forKey: key) }
    }

    func encodeIfPresent(_ value: Double?, forKey key: Key) {
        if let value { encode(value, forKey: key) } else { encodeNil(forKey: key) }
    }

    func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try any(value, key) }
    func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try any(value, key) }
    func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try any(value, key) }
    func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try any(value, key) }
    func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try any(value, key) }
    func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try any(value, key) }
    func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try any(value, key) }
    func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try any(value, key) }
    func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try any(value, key) }

    private func any(_ value: (some Encodable)?, _ key: Key) throws {
        if let value { try encode(value, forKey: key) } else { encodeNil(forKey: key) }
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        preconditionFailure("a wire type asks for no nested container")
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        preconditionFailure("a wire type asks for no nested container")
    }

    /// The object itself, for ``Flattened``.
    func superEncoder(forKey key: Key) -> any Encoder { superEncoder() }

    func superEncoder() -> any Encoder {
        state.end(to: depth)
        return ValueEncoder(state: state, depth: depth - 1)
    }
}

private struct ArrayEncoding: UnkeyedEncodingContainer, PathlessCoder {
    let state: EncodingState
    let depth: Int
    private(set) var count = 0

    private mutating func next() {
        state.end(to: depth)
        count += 1
    }

    mutating func encodeNil() {
        next()
        state.json.null()
    }

    mutating func encode<Value: Encodable>(_ value: Value) throws {
        next()
        try state.write(value)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) -> KeyedEncodingContainer<Nested> {
        preconditionFailure("a wire type asks for no nested container")
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        preconditionFailure("a wire type asks for no nested container")
    }

    func superEncoder() -> any Encoder { preconditionFailure("a wire type has no superclass") }
}

private struct SingleEncoding: SingleValueEncodingContainer, PathlessCoder {
    let state: EncodingState

    func encodeNil() { state.json.null() }

    func encode(_ value: String) { state.json.string(value) }
    func encode(_ value: Bool) { state.json.bool(value) }
    func encode(_ value: Int) { state.json.integer(value) }
    func encode(_ value: Int64) { state.json.integer(value) }
    func encode(_ value: Double) { state.json.double(value) }
    func encode(_ value: Float) { state.json.double(Double(value)) }

    func encode<Value: Encodable>(_ value: Value) throws {
        // A number of the standard library would only come back here.
        if let number = value as? any FixedWidthInteger { return state.json.integer(number) }
        try state.write(value)
    }
}
