package import LarderModel

/// Percent-encoding (RFC 3986 2.1) of ids in paths and of values in queries.
package enum PercentCoding {
    /// The text behind `text`; nil for a `%` without two digits, or bytes that are no UTF-8.
    ///
    /// With `plusIsSpace` a `+` stands for a space, as in a form.
    package static func decode(_ text: Substring, plusIsSpace: Bool = false) -> String? {
        let encoded = Array(text.utf8)
        guard encoded.contains(where: { $0 == percent || (plusIsSpace && $0 == plus) }) else {
            return String(text)
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(encoded.count)
        var position = 0
        while position < encoded.count {
            let byte = encoded[position]
            if byte == percent {
                guard position + 2 < encoded.count, let high = digit(encoded[position + 1]),
                    let low = digit(encoded[position + 2])
                else { return nil }
                bytes.append(high << 4 | low)
                position += 3
            } else {
                bytes.append(plusIsSpace && byte == plus ? 0x20 : byte)
                position += 1
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// `text` with all but letters, digits, `-`, `.`, `_` and `~` encoded.
    package static func encode(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if isUnreserved(byte) {
                bytes.append(byte)
            } else {
                bytes += [percent, upperDigit(byte >> 4), upperDigit(byte & 15)]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Parameters as a query, without the `?`.
    package static func query(_ parameters: [(name: String, value: String)]) -> String {
        parameters.map { "\($0.name)=\(encode($0.value))" }.joined(separator: "&")
    }

    /// The id in the rest of a path, `https:%2F%2Fapi.example.com%2F42`; a bare `/` is taken too.
    package static func id(inPath rest: Substring) throws(Problem) -> EntryID {
        guard let text = decode(rest) else {
            throw Problem(.badID, "the id in the path is not percent-encoded UTF-8")
        }
        do throws(ModelError) {
            return try EntryID(given: text)
        } catch {
            throw Problem(.badID, error.message)
        }
    }

    /// The path of an entry: `/v1/entries/` and its id.
    package static func entryPath(_ id: EntryID) -> String {
        "/v1/entries/" + encode(id.text)
    }

    /// The key in the rest of a path, `User%3A7`; an encoding of its own stands under that of the
    /// path: `User:a%252Fb`.
    package static func key(inPath rest: Substring) throws(Problem) -> EntityKey {
        guard let text = decode(rest) else {
            throw Problem(.badID, "the key in the path is not percent-encoded UTF-8")
        }
        return try EntityKey(command: text)
    }

    /// The path of an entity: `/v1/entities/{key}`.
    package static func entityPath(_ key: EntityKey) -> String {
        "/v1/entities/" + encode(key.text)
    }

    /// The path of a pin: `/v1/pins/{id}`.
    package static func pinPath(_ id: EntryID) -> String {
        "/v1/pins/" + encode(id.text)
    }

    /// The path of a modifier: `/v1/modifiers/{id}`.
    package static func modifierPath(_ id: ModifierID) -> String {
        "/v1/modifiers/" + encode(id.text)
    }

    /// The path under which a lane is paused or resumed: `/v1/lanes/{lane}/{step}`.
    package static func lanePath(_ lane: Lane, _ step: String) -> String {
        "/v1/lanes/" + encode(lane.text) + "/" + step
    }

    package static func modifierID(inPath rest: Substring) throws(Problem) -> ModifierID {
        try model(rest) { text throws(ModelError) in try ModifierID(text) }
    }

    package static func lane(inPath rest: Substring) throws(Problem) -> Lane {
        try model(rest) { text throws(ModelError) in try Lane(text) }
    }

    private static func model<Value>(
        _ rest: Substring,
        _ make: (String) throws(ModelError) -> Value
    ) throws(Problem) -> Value {
        guard let text = decode(rest) else {
            throw Problem(.badRequest, "'\(rest)' in the path is not percent-encoded UTF-8")
        }
        do throws(ModelError) {
            return try make(text)
        } catch {
            throw Problem(.badRequest, error.message)
        }
    }

    private static let percent = UInt8(ascii: "%")
    private static let plus = UInt8(ascii: "+")

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    private static func upperDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "_"), UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
