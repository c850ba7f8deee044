/// Writes compact JSON; members have the order of the calls.
///
///     var json = JSONWriter()
///     json.object { json in json.member("rev", 7) }
///
/// The writer sets the commas. The caller closes what it opens, and writes a name before each value
/// of an object. ``object(_:)`` and ``member(_:_:)`` do both.
package struct JSONWriter: Sendable {
    package private(set) var bytes: [UInt8] = []
    /// Whether the next value needs a comma before it.
    private var needsComma = false

    package init() {}

    package mutating func beginObject() { open(UInt8(ascii: "{")) }
    package mutating func endObject() { close(UInt8(ascii: "}")) }
    package mutating func beginArray() { open(UInt8(ascii: "[")) }
    package mutating func endArray() { close(UInt8(ascii: "]")) }

    package mutating func name(_ name: String) {
        string(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// The same for a name with its quotation marks and colon, as JSON has it.
    package mutating func name(encoded name: [UInt8]) {
        comma()
        bytes.append(contentsOf: name)
        needsComma = false
    }

    package mutating func string(_ text: String) {
        comma()
        var text = text
        text.withUTF8 { bytes.append(jsonString: UnsafeRawBufferPointer($0), halves: .scalars) }
    }

    package mutating func integer(_ number: some BinaryInteger) {
        verbatim(String(number).utf8)
    }

    /// The shortest text that reads back as `number`; null where it is not finite.
    package mutating func double(_ number: Double) {
        verbatim((number.isFinite ? number.description : "null").utf8)
    }

    package mutating func bool(_ bool: Bool) {
        verbatim((bool ? "true" : "false").utf8)
    }

    package mutating func null() {
        verbatim("null".utf8)
    }

    /// Bytes that are JSON already, as one value.
    package mutating func verbatim(_ json: some Sequence<UInt8>) {
        comma()
        bytes.append(contentsOf: json)
    }
}

extension JSONWriter {
    package mutating func object(_ body: (inout JSONWriter) -> Void) {
        beginObject()
        body(&self)
        endObject()
    }

    /// A text, or null.
    package mutating func member(_ name: String, _ text: String?) {
        self.name(name)
        if let text { string(text) } else { null() }
    }

    package mutating func member(_ name: String, _ number: (some BinaryInteger)?) {
        self.name(name)
        if let number { integer(number) } else { null() }
    }

    package mutating func member(_ name: String, _ number: some BinaryInteger) {
        self.name(name)
        integer(number)
    }

    /// A number, or null.
    package mutating func member(_ name: String, _ number: Double?) {
        self.name(name)
        if let number { double(number) } else { null() }
    }

    package mutating func member(_ name: String, _ bool: Bool) {
        self.name(name)
        self.bool(bool)
    }

    package mutating func member(_ name: String, _ texts: [String]) {
        self.name(name)
        beginArray()
        for text in texts { string(text) }
        endArray()
    }

    package mutating func member(_ name: String, object body: (inout JSONWriter) -> Void) {
        self.name(name)
        object(body)
    }
}

extension JSONWriter {
    private mutating func comma() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    private mutating func open(_ bracket: UInt8) {
        comma()
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }
}

extension [UInt8] {
    /// Appends a text as a string of JSON, in its canonical spelling (RFC 8785 3.2.2.2).
    package mutating func append(
        jsonString text: UnsafeRawBufferPointer,
        halves: JSONHalves.Form
    ) {
        append(UInt8(ascii: "\""))
        let lead = halves.lead
        var start = 0
        for (index, byte) in text.enumerated() {
            if byte == lead, let escape = JSONHalves.escape(text[index...], halves) {
                append(contentsOf: text[start..<index])
                self += escape
                start = index + halves.byteCount
                continue
            }
            guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else {
                continue
            }
            append(contentsOf: text[start..<index])
            start = index + 1
            switch byte {
            case 0x08: self += [UInt8(ascii: "\\"), UInt8(ascii: "b")]
            case 0x09: self += [UInt8(ascii: "\\"), UInt8(ascii: "t")]
            case 0x0A: self += [UInt8(ascii: "\\"), UInt8(ascii: "n")]
            case 0x0C: self += [UInt8(ascii: "\\"), UInt8(ascii: "f")]
            case 0x0D: self += [UInt8(ascii: "\\"), UInt8(ascii: "r")]
            case 0..<0x20:
                self += Array("\\u00\(byte < 0x10 ? "0" : "")\(String(byte, radix: 16))".utf8)
            default: self += [UInt8(ascii: "\\"), byte]
            }
        }
        append(contentsOf: text[start...])
        append(UInt8(ascii: "\""))
    }
}

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

extension [UInt8] {
    /// `withUnsafeBytes` for a body with a typed error.
    func withRawBytes<Result>(
        _ body: (UnsafeRawBufferPointer) throws(JSONError) -> Result
    ) throws(JSONError) -> Result {
        try withUnsafeBufferPointer { (buffer) throws(JSONError) -> Result in
            try body(UnsafeRawBufferPointer(buffer))
        }
    }
}
