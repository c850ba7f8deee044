#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension Int64 {
    package func clamped(to range: ClosedRange<Int64>) -> Int64 {
        Swift.min(Swift.max(self, range.lowerBound), range.upperBound)
    }
}

extension Duration {
    /// The pause doubled so many times: above our longest pauses, and far below an overflow.
    package func doubled(_ times: Int) -> Duration { self * (1 << min(max(times, 0), 16)) }
}

extension Array where Element: Hashable {
    /// Each element once, in the order of their first appearance.
    package var unique: [Element] {
        guard count > 1 else { return self }
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}

extension Array {
    /// The elements in order, in arrays of `count` and a last one of what remains.
    package func chunks(of count: Int) -> [[Element]] {
        stride(from: 0, to: self.count, by: count).map { start in
            Array(self[start..<Swift.min(start + count, self.count)])
        }
    }
}

extension UInt8 {
    package var isASCIIDigit: Bool { (0x30...0x39).contains(self) }
    package var isASCIILetter: Bool { (0x61...0x7A).contains(self | 0x20) }
    package var isASCIIAlphanumeric: Bool { isASCIIDigit || isASCIILetter }
    /// Whether it may be in a token, such as a name of a header field (RFC 9110 5.6.2).
    package var isTokenCharacter: Bool {
        isASCIIAlphanumeric || "!#$%&'*+-.^_`|~".utf8.contains(self)
    }

    /// Whether it is a space or a tab.
    package var isBlank: Bool { self == 0x20 || self == 0x09 }

    /// The value of a hexadecimal digit in either case; nil for any other byte.
    package var hexValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// The lower-case letter of an upper-case one, every other byte unchanged.
    package var lowercasedASCII: UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
    }
}

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
