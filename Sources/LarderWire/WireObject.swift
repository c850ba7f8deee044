import LarderJSON
import LarderModel

/// An object of ours at the reading end: its members by type, unknown ones ignored.
struct WireObject {
    private let json: JSONMembers

    init(parsing bytes: [UInt8]) throws(WireError) {
        do throws(JSONError) {
            json = try JSONMembers(parsing: bytes, depthMax: Limits.frameDepthMax)
        } catch {
            throw .notJSON(error)
        }
    }

    private init(_ json: JSONMembers) {
        self.json = json
    }

    /// The value, or nil where it is missing or null.
    func value(_ name: String) throws(WireError) -> JSONValue? {
        do throws(JSONError) {
            guard let value = try json.value(name), !value.isNull else { return nil }
            return value
        } catch {
            throw .notJSON(error)
        }
    }

    /// The names of its members, in the order in which they came.
    var names: [String] { json.names }

    /// The bytes of the value as they came.
    func bytes(_ name: String) -> [UInt8]? {
        json.range(name).map { Array(json.bytes[$0]) }
    }

    func object(_ name: String) throws(WireError) -> WireObject {
        let found: JSONMembers?
        do throws(JSONError) {
            found = try json.members(name)
        } catch {
            throw .wrongType(member: name, wanted: "an object")
        }
        guard let found else { throw .missingMember(name) }
        return WireObject(found)
    }

    /// Nil where it is missing or null.
    func optionalObject(_ name: String) throws(WireError) -> WireObject? {
        guard try value(name) != nil else { return nil }
        return try object(name)
    }

    func objects(_ name: String) throws(WireError) -> [WireObject] {
        var objects: [WireObject] = []
        for range in try elementRanges(name) {
            objects.append(try WireObject(parsing: Array(json.bytes[range])))
        }
        return objects
    }

    /// An element of an array that holds strings and objects.
    enum Element {
        case string(String)
        case object(WireObject)
    }

    func elements(_ name: String) throws(WireError) -> [Element] {
        var elements: [Element] = []
        for range in try elementRanges(name) {
            let bytes = Array(json.bytes[range])
            if bytes.first == UInt8(ascii: "{") {
                elements.append(.object(try WireObject(parsing: bytes)))
            } else if let text = (try? JSONValue(parsing: bytes))?.string {
                elements.append(.string(text))
            } else {
                throw .wrongType(member: name, wanted: "an array of strings and objects")
            }
        }
        return elements
    }

    func string(_ name: String) throws(WireError) -> String {
        try required(name, try optionalString(name))
    }

    func optionalString(_ name: String) throws(WireError) -> String? {
        try typed(name, "a string") { $0.string }
    }

    func integer<Integer: FixedWidthInteger>(_ name: String) throws(WireError) -> Integer {
        try required(name, try optionalInteger(name))
    }

    func optionalInteger<Integer: FixedWidthInteger>(
        _ name: String
    ) throws(WireError) -> Integer? {
        try typed(name, "an integer") { $0.integer.flatMap { Integer(exactly: $0) } }
    }

    func optionalDouble(_ name: String) throws(WireError) -> Double? {
        try typed(name, "a number") { $0.double }
    }

    func bool(_ name: String) throws(WireError) -> Bool {
        try required(name, try typed(name, "a boolean") { $0.bool })
    }

    func strings(_ name: String) throws(WireError) -> [String] {
        try required(name, try optionalStrings(name))
    }

    func optionalStrings(_ name: String) throws(WireError) -> [String]? {
        try typed(name, "an array of strings") { value in
            guard let elements = value.elements else { return nil }
            let texts = elements.compactMap(\.string)
            return texts.count == elements.count ? texts : nil
        }
    }

    func integers<Integer: FixedWidthInteger>(_ name: String) throws(WireError) -> [Integer] {
        let integers: [Integer]? = try typed(name, "an array of integers") { value in
            guard let elements = value.elements else { return nil }
            let numbers = elements.compactMap { $0.integer.flatMap { Integer(exactly: $0) } }
            return numbers.count == elements.count ? numbers : nil
        }
        return try required(name, integers)
    }

    /// A text that `read` makes a value of; nil where it is missing or null.
    func optional<Value>(
        _ name: String,
        _ read: (String) -> Value?
    ) throws(WireError) -> Value? {
        guard let text = try optionalString(name) else { return nil }
        guard let value = read(text) else { throw .unknownValue(member: name, text: text) }
        return value
    }

    func required<Value>(
        _ name: String,
        _ read: (String) -> Value?
    ) throws(WireError) -> Value {
        try required(name, try optional(name, read))
    }
}

extension WireObject {
    private func required<Value>(_ name: String, _ value: Value?) throws(WireError) -> Value {
        guard let value else { throw .missingMember(name) }
        return value
    }

    private func typed<Value>(
        _ name: String,
        _ wanted: String,
        _ read: (JSONValue) -> Value?
    ) throws(WireError) -> Value? {
        guard let value = try value(name) else { return nil }
        guard let typed = read(value) else { throw .wrongType(member: name, wanted: wanted) }
        return typed
    }

    private func elementRanges(_ name: String) throws(WireError) -> [Range<Int>] {
        let ranges: [Range<Int>]?
        do throws(JSONError) {
            ranges = try json.elementRanges(name)
        } catch {
            throw .notJSON(error)
        }
        guard let ranges else { throw .wrongType(member: name, wanted: "an array") }
        return ranges
    }
}

extension WireObject {
    func timestamp(_ name: String) throws(WireError) -> Timestamp {
        try required(name) { Timestamp(rfc3339: $0) }
    }

    func optionalTimestamp(_ name: String) throws(WireError) -> Timestamp? {
        try optional(name) { Timestamp(rfc3339: $0) }
    }

    func id(_ name: String) throws(WireError) -> EntryID {
        try required(name) { try? EntryID($0) }
    }

    func revision(_ name: String) throws(WireError) -> Revision {
        Revision(try integer(name))
    }
}
