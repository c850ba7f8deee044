/// The base64 of RFC 4648 4, with padding.
package enum Base64 {
    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8
    )
    private static let padding = UInt8(ascii: "=")
    /// The value of each letter; 0xFF where it is none.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 0xFF, count: 256)
        for (value, letter) in alphabet.enumerated() { values[Int(letter)] = UInt8(value) }
        return values
    }()

    package static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var bits: UInt32 = 0
            for (index, byte) in group.enumerated() { bits |= UInt32(byte) << (16 - 8 * index) }
            for index in 0..<4 {
                let isPadding = index > group.count
                text.append(
                    isPadding ? padding : alphabet[Int(bits >> (18 - 6 * index) & 63)]
                )
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Nil for a foreign letter, a bad length, padding in the wrong place, or bits left over.
    package static func decode(_ text: String) -> [UInt8]? {
        let letters = Array(text.utf8)
        guard letters.count.isMultiple(of: 4) else { return nil }
        let paddings = letters.suffix(2).reversed().prefix { $0 == padding }.count
        var bytes: [UInt8] = []
        bytes.reserveCapacity(letters.count / 4 * 3)
        var bits: UInt32 = 0
        var bitCount = 0
        for letter in letters.dropLast(paddings) {
            let value = values[Int(letter)]
            guard value < 64 else { return nil }
            bits = bits << 6 | UInt32(value)
            bitCount += 6
            guard bitCount >= 8 else { continue }
            bitCount -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
            bits &= 1 << UInt32(bitCount) - 1
        }
        return bits == 0 ? bytes : nil
    }
}

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension String {
    /// Whether both have the same bytes of UTF-8.
    ///
    /// SQLite, HTTP and file systems compare so. `==` does not: to it composed and decomposed
    /// letters are the same.
    package func hasSameBytes(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        return withBytes { left in
            other.withBytes { right in
                guard let own = left.baseAddress, let other = right.baseAddress else {
                    return true
                }
                return memcmp(own, other, left.count) == 0
            }
        }
    }

    /// Feeds the bytes of UTF-8, and an end that no UTF-8 contains.
    package func hashBytes(into hasher: inout Hasher) {
        withBytes { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(UInt8.max)
    }

    /// A media type without its parameters and blanks, in lower case (RFC 9110 8.3.1).
    ///
    /// By bytes: each accepted write looks twice, and by characters a look took 3 us.
    package var mediaEssence: String {
        let name = utf8.prefix { $0 != UInt8(ascii: ";") }
        return String(decoding: name.filter { !$0.isBlank }.map(\.lowercasedASCII), as: UTF8.self)
    }

    /// Calls `body` with the bytes of UTF-8, where they lie if they lie in one piece.
    func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        utf8.withContiguousStorageIfAvailable(body) ?? Array(utf8).withUnsafeBufferPointer(body)
    }
}
