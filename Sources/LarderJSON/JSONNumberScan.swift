/// Where a number ends.
enum JSONNumberScan {
    /// The offset after the number that begins at `start` with a minus sign or a digit.
    ///
    /// `number = [ "-" ] int [ "." 1*DIGIT ] [ ("e" / "E") [ "+" / "-" ] 1*DIGIT ]` (RFC 8259 6).
    static func end(
        in bytes: UnsafeRawBufferPointer,
        from start: Int
    ) throws(JSONError) -> Int {
        var position = start
        if bytes[position] == UInt8(ascii: "-") { position += 1 }
        let firstDigit = position
        position = try digits(in: bytes, from: position)
        if bytes[firstDigit] == UInt8(ascii: "0"), position > firstDigit + 1 {
            throw .badNumber(at: firstDigit)
        }
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
            position = try digits(in: bytes, from: position + 1)
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if position < bytes.count,
                bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-")
            {
                position += 1
            }
            position = try digits(in: bytes, from: position)
        }
        return position
    }

    /// Passes over one digit or more.
    private static func digits(
        in bytes: UnsafeRawBufferPointer,
        from start: Int
    ) throws(JSONError) -> Int {
        var position = start
        while position < bytes.count, bytes[position] &- UInt8(ascii: "0") < 10 { position += 1 }
        guard position > start else {
            throw position < bytes.count
                ? .badNumber(at: position) : .unexpectedEnd(at: position)
        }
        return position
    }
}
