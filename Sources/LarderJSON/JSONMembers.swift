import LarderModel

/// The members of one object with the byte ranges of their values, which are not parsed.
///
/// Use it for a large text of which little is needed, or whose inner bytes must stay as they are. A
/// frame with an inline body is read twice, once for the frame and once for its entry. The body is
/// never built.
package struct JSONMembers: Sendable {
    private struct Member: Sendable {
        let name: String
        let range: Range<Int>
    }

    /// The bytes that the ranges are offsets of.
    package let bytes: [UInt8]
    private let depthMax: Int
    private var members: [Member] = []

    /// Reads `bytes`, all of which must be one object.
    package init(
        parsing bytes: [UInt8],
        depthMax: Int = Limits.jsonDepthMax
    ) throws(JSONError) {
        try self.init(parsing: bytes, in: bytes.indices, depthMax: depthMax)
    }

    private init(parsing bytes: [UInt8], in part: Range<Int>, depthMax: Int) throws(JSONError) {
        self.bytes = bytes
        self.depthMax = depthMax
        members = try bytes.withRawBytes { (buffer) throws(JSONError) -> [Member] in
            let text = UnsafeRawBufferPointer(rebasing: buffer[part])
            return try Self.members(of: text, offset: part.lowerBound, depthMax: depthMax)
        }
    }

    private static func members(
        of text: UnsafeRawBufferPointer,
        offset: Int,
        depthMax: Int
    ) throws(JSONError) -> [Member] {
        var tokenizer = JSONTokenizer(text, depthMax: depthMax)
        var members: [Member] = []
        guard let first = try tokenizer.next(), first.kind == .beginObject else {
            throw .notAnObject(at: offset)
        }
        while let name = try tokenizer.next(), name.kind == .name,
            let token = try tokenizer.next()
        {
            let range = try tokenizer.skipValue(token)
            members.append(
                Member(
                    name: JSONStringScan.text(name, in: text),
                    range: range.lowerBound + offset..<range.upperBound + offset
                )
            )
        }
        while try tokenizer.next() != nil {}
        return members
    }

    /// The names, in the order in which they came.
    package var names: [String] { members.map(\.name) }

    /// Which bytes the value of the last member of this name takes, without space around it.
    package func range(_ name: String) -> Range<Int>? {
        members.last { $0.name.hasSameBytes(as: name) }?.range
    }

    /// The value of the last member of this name.
    package func value(_ name: String) throws(JSONError) -> JSONValue? {
        guard let range = range(name) else { return nil }
        return try bytes.withRawBytes { (buffer) throws(JSONError) -> JSONValue in
            try JSONValue(
                parsing: UnsafeRawBufferPointer(rebasing: buffer[range]),
                depthMax: depthMax
            )
        }
    }

    /// The members of the object under this name; nil where there is none.
    package func members(_ name: String) throws(JSONError) -> JSONMembers? {
        guard let range = range(name) else { return nil }
        return try JSONMembers(parsing: bytes, in: range, depthMax: depthMax)
    }

    /// Which bytes the value takes that `path` leads to, member name by member name.
    package static func range(
        at path: [String],
        in bytes: [UInt8],
        depthMax: Int = Limits.jsonDepthMax
    ) throws(JSONError) -> Range<Int>? {
        var members = try JSONMembers(parsing: bytes, depthMax: depthMax)
        for name in path.dropLast() {
            guard let range = members.range(name), bytes[range.lowerBound] == UInt8(ascii: "{")
            else { return nil }
            members = try JSONMembers(parsing: bytes, in: range, depthMax: depthMax)
        }
        return path.last.flatMap { members.range($0) }
    }
}

extension JSONMembers {
    /// Which bytes the elements take of the array under this name; nil where it is no array.
    package func elementRanges(_ name: String) throws(JSONError) -> [Range<Int>]? {
        guard let part = range(name), bytes[part.lowerBound] == UInt8(ascii: "[") else {
            return nil
        }
        return try bytes.withRawBytes { (buffer) throws(JSONError) -> [Range<Int>] in
            var tokenizer = JSONTokenizer(
                UnsafeRawBufferPointer(rebasing: buffer[part]),
                depthMax: depthMax
            )
            var ranges: [Range<Int>] = []
            _ = try tokenizer.next()
            while let token = try tokenizer.next(), token.kind != .endArray {
                let range = try tokenizer.skipValue(token)
                ranges.append(
                    range.lowerBound + part.lowerBound..<range.upperBound + part.lowerBound
                )
            }
            return ranges
        }
    }
}

/// The members of an object while many of them are changed; they keep their order.
///
/// Of a repeated name only the last member is kept.
struct JSONMembersByName {
    private var slots: [JSONMember?]
    private var places: [JSONName: Int]

    init(_ members: [JSONMember]) {
        places = members.lastIndexes
        slots = members
        guard places.count < members.count else { return }
        for (index, member) in members.enumerated() where places[JSONName(member.name)] != index {
            slots[index] = nil
        }
    }

    var members: [JSONMember] { slots.compactMap { $0 } }

    /// The value of a member, which is null here until ``set(_:_:)``: so it is changed, not copied.
    mutating func take(_ name: JSONName) -> JSONValue? {
        guard let place = places[name] else { return nil }
        let value = slots[place]?.value
        slots[place]?.value = .null
        return value
    }

    mutating func set(_ name: JSONName, _ value: JSONValue) {
        if let place = places[name] {
            slots[place]?.value = value
        } else {
            places[name] = slots.count
            slots.append(JSONMember(name: name.text, value: value))
        }
    }

    mutating func remove(_ name: JSONName) {
        guard let place = places.removeValue(forKey: name) else { return }
        slots[place] = nil
    }
}

/// A text as a key of a set or a dictionary: two are one if their bytes of UTF-8 are.
///
/// `String` itself holds composed and decomposed letters equal, which JSON does not.
package struct JSONName: Hashable, Sendable {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    package static func == (left: JSONName, right: JSONName) -> Bool {
        left.text.hasSameBytes(as: right.text)
    }

    package func hash(into hasher: inout Hasher) {
        let isHashed: Void? = text.utf8.withContiguousStorageIfAvailable {
            hasher.combine(bytes: UnsafeRawBufferPointer($0))
        }
        if isHashed == nil {
            Array(text.utf8).withUnsafeBytes { hasher.combine(bytes: $0) }
        }
        // No UTF-8 has this byte: it ends the text.
        hasher.combine(UInt8.max)
    }
}
