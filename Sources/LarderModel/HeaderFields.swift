/// HTTP header fields in the order they came; looked up by names without case.
///
/// Two lists are equal when the bytes of all names and values are.
package struct HeaderFields: Hashable, Sendable {
    package struct Field: Sendable {
        package let name: String
        package let value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    package private(set) var fields: [Field]

    package init(_ fields: [Field] = []) { self.fields = fields }

    /// The first value under `name`.
    package subscript(name: String) -> String? {
        fields.first { $0.name.isEqual(to: name) }?.value
    }

    /// All values under `name`, as one list (RFC 9110 5.3), or nil where there is none.
    package func list(_ name: String) -> String? {
        let values = fields.filter { $0.name.isEqual(to: name) }.map(\.value)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    /// The elements of a list of names, in lower case (RFC 9110 5.6.1).
    package func listed(_ name: String) -> [String] {
        guard let list = list(name) else { return [] }
        return list.split(separator: ",").map { element in
            element.filter { $0 != " " && $0 != "\t" }.lowercased()
        }
    }

    /// Whether a field of this name identifies a user: no other user may see its value.
    package static func holdsSecret(_ name: String) -> Bool {
        let name = name.lowercased()
        return ["authorization", "cookie", "proxy-authorization"].contains(name)
            || ["-key", "-token", "-secret"].contains { name.hasSuffix($0) }
    }

    package mutating func append(_ name: String, _ value: String) {
        fields.append(Field(name: name, value: value))
    }

    package mutating func set(_ name: String, _ value: String) {
        remove(name)
        append(name, value)
    }

    package mutating func remove(_ name: String) {
        fields.removeAll { $0.name.isEqual(to: name) }
    }

    /// The fields whose names, in lower case, are to stay.
    package func keeping(_ isKept: (String) -> Bool) -> HeaderFields {
        HeaderFields(fields.filter { isKept($0.name.lowercased()) })
    }

    /// Names and values, as they count against a budget.
    package var byteCount: Int {
        fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
    }
}

extension HeaderFields.Field: Hashable {
    package static func == (left: Self, right: Self) -> Bool {
        left.name.hasSameBytes(as: right.name) && left.value.hasSameBytes(as: right.value)
    }

    package func hash(into hasher: inout Hasher) {
        name.hashBytes(into: &hasher)
        value.hashBytes(into: &hasher)
    }
}

extension HeaderFields {
    /// The lines `Name: value`, each ended by a line feed, as a row holds them.
    ///
    /// A CR or LF in a value, which would begin another field, becomes a space (RFC 9110 5.5).
    package var lines: String {
        var lines = ""
        lines.reserveCapacity(byteCount)
        for field in fields {
            lines += field.name.withoutLineBreaks
            lines += ": "
            lines += field.value.withoutLineBreaks
            lines += "\n"
        }
        return lines
    }

    /// Reads ``lines``; a line that has no colon is left out.
    package init(lines: String) {
        fields = lines.withBytes { bytes in
            bytes.split(separator: UInt8(ascii: "\n")).compactMap(Field.init(line:))
        }
    }
}

extension HeaderFields.Field {
    fileprivate init?(line: Slice<UnsafeBufferPointer<UInt8>>) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        var value = line[(colon + 1)...]
        if value.first == UInt8(ascii: " ") { value.removeFirst() }
        name = String(decoding: line[..<colon], as: UTF8.self)
        self.value = String(decoding: value, as: UTF8.self)
    }
}

extension String {
    fileprivate var withoutLineBreaks: String {
        func isBreak(_ byte: UInt8) -> Bool {
            byte == UInt8(ascii: "\r") || byte == UInt8(ascii: "\n")
        }
        guard utf8.contains(where: isBreak) else { return self }
        return String(
            decoding: utf8.map { isBreak($0) ? UInt8(ascii: " ") : $0 },
            as: UTF8.self
        )
    }
}

extension String {
    /// Equality of ASCII texts without case, as of header names.
    package func isEqual(to other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        return zip(utf8, other.utf8).allSatisfy { $0.lowercasedASCII == $1.lowercasedASCII }
    }
}

/// Lists in header values (RFC 9110 5.6.1).
package enum HeaderList {
    /// The parts between separators outside quotes, without the blanks around them and without empty
    /// parts.
    package static func split(_ value: String, at separator: UInt8) -> [String] {
        var isQuoted = false
        var isEscaped = false
        let parts: [Substring.UTF8View] = value.utf8.split { byte in
            switch byte {
            case _ where isEscaped: isEscaped = false
            case UInt8(ascii: "\\"): isEscaped = isQuoted
            case UInt8(ascii: "\""): isQuoted.toggle()
            case separator: return !isQuoted
            default: break
            }
            return false
        }
        return parts.map(\.trimmed).filter { !$0.isEmpty }
    }
}

extension String {
    /// The text without the blanks around it, which are no part of a field's value (RFC 9110 5.5).
    ///
    /// The parser of requests and answers leaves those after the value where they are.
    package var withoutBlanks: String {
        guard utf8.first?.isBlank == true || utf8.last?.isBlank == true else { return self }
        return self[...].utf8.trimmed
    }
}

extension Substring.UTF8View {
    package var trimmed: String {
        var text = drop(while: \.isBlank)
        while text.last?.isBlank == true { text.removeLast() }
        return String(Substring(text))
    }
}

/// Bytes of an HTTP field value as text, and back, without loss (RFC 9110 5.5, obs-text).
///
/// A value is text in UTF-8 as a rule. A byte that is not part of valid UTF-8 becomes one scalar of
/// `U+10FF80...U+10FFFF`, the last of the private use area. A value that contains one of these
/// scalars in UTF-8 has its four bytes written in the same way, so each value has one text.
package enum FieldBytes {
    /// First two bytes of the UTF-8 form of each of these scalars.
    private static let lead: [UInt8] = [0xF4, 0x8F]
    private static let lengthMax = 4

    package static func escaped(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.contains(where: { $0 >= 0x80 }) else { return bytes }
        var escaped: [UInt8] = []
        escaped.reserveCapacity(bytes.count + 16)
        var index = 0
        while index < bytes.count {
            let length = scalarLength(bytes[index...])
            if length > 0, !isEscape(bytes[index...]) {
                escaped += bytes[index..<(index + length)]
                index += length
            } else {
                escaped += escape(bytes[index])
                index += 1
            }
        }
        return escaped
    }

    package static func unescaped(_ text: some Collection<UInt8>) -> [UInt8] {
        let bytes = Array(text)
        guard bytes.contains(lead[0]) else { return bytes }
        var plain: [UInt8] = []
        plain.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            if isEscape(bytes[index...]) {
                plain.append((bytes[index + 2] - 0xBE) << 6 | 0x80 | (bytes[index + 3] & 0x3F))
                index += lengthMax
            } else {
                plain.append(bytes[index])
                index += 1
            }
        }
        return plain
    }

    private static func escape(_ byte: UInt8) -> [UInt8] {
        lead + [0xBE + ((byte & 0x7F) >> 6), 0x80 | (byte & 0x3F)]
    }

    private static func isEscape(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.count >= lengthMax && bytes.starts(with: lead) && bytes[bytes.startIndex + 2] >= 0xBE
    }

    /// Bytes of the valid scalar at the beginning; 0 where there is none (RFC 3629 4).
    private static func scalarLength(_ bytes: ArraySlice<UInt8>) -> Int {
        var iterator = bytes.prefix(lengthMax).makeIterator()
        var decoder = UTF8()
        guard case .scalarValue(let scalar) = decoder.decode(&iterator) else { return 0 }
        return UTF8.width(scalar)
    }
}

extension String {
    /// Text of the bytes of a field value; see ``FieldBytes``.
    package init(fieldBytes: [UInt8]) {
        self.init(decoding: FieldBytes.escaped(fieldBytes), as: UTF8.self)
    }
}

/// Reads If-None-Match and If-Match (RFC 9110 13.1).
package enum EntityTagList {
    /// Whether the header's values name an entity tag, compared weakly, or say `*`.
    ///
    /// A comma inside the quotes belongs to the tag, and a backslash is a character like any other
    /// (8.8.3). A tag without quotes, which some origins send and clients send back, goes up to
    /// the next comma.
    package static func contains(_ tag: String, in values: [String]) -> Bool {
        let own = opaque(Array(tag.utf8)[...])
        return names(values) { $0.opaque == own }
    }

    /// Whether a tag is in the list, compared strongly: a weak one is like no other (8.8.3.2).
    package static func containsStrongly(_ tag: String, in values: [String]) -> Bool {
        let own = Array(tag.utf8)[...]
        return names(values) { !$0.isWeak && $0.opaque == own }
    }

    private struct Tag {
        let opaque: ArraySlice<UInt8>
        let isWeak: Bool
    }

    private static func names(_ values: [String], _ isMeant: (Tag) -> Bool) -> Bool {
        if values.count == 1, values[0].utf8.filter({ !$0.isBlank }) == [UInt8(ascii: "*")] {
            return true
        }
        return values.contains { value in
            var rest = Array(value.utf8)[...]
            while let next = popTag(&rest) {
                if isMeant(next) { return true }
            }
            return false
        }
    }

    /// The tag without the mark of a weak one.
    private static func opaque(_ tag: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        tag.starts(with: [UInt8(ascii: "W"), UInt8(ascii: "/")]) ? tag.dropFirst(2) : tag
    }

    /// Takes the next tag of a list; nil at its end.
    private static func popTag(_ rest: inout ArraySlice<UInt8>) -> Tag? {
        let quote = UInt8(ascii: "\"")
        let comma = UInt8(ascii: ",")
        rest = rest.drop { $0 == comma || $0.isBlank }
        guard !rest.isEmpty else { return nil }
        let bare = opaque(rest)
        let end: Int
        if bare.first == quote, let close = bare.dropFirst().firstIndex(of: quote) {
            end = close + 1
        } else {
            end = bare.firstIndex(of: comma) ?? bare.endIndex
        }
        var tag = bare[bare.startIndex..<end]
        while tag.last?.isBlank == true { tag.removeLast() }
        defer { rest = rest[end...] }
        return Tag(opaque: tag, isWeak: bare.startIndex > rest.startIndex)
    }
}
