/// Secret key for digests of texts: SipHash-2-4 with 128 bits
/// (https://www.aumasson.jp/siphash/siphash.pdf).
///
/// Digests show whether texts are equal. Without the key, a reader cannot test a guessed text.
package struct DigestKey: Equatable, Sendable {
    private let first: UInt64
    private let second: UInt64

    /// Takes 16 bytes; nil for any other number.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        first = Self.word(bytes[0..<8])
        second = Self.word(bytes[8..<16])
    }

    /// The digest of a text, as 32 digits.
    package func digest(of text: String) -> String { digest(of: Array(text.utf8)).hexadecimal }

    /// The 16 bytes of a digest, as the paper's own code gives them.
    func digest(of bytes: [UInt8]) -> [UInt8] {
        var state = State(first, second)
        let whole = bytes.count - bytes.count % 8
        for start in stride(from: 0, to: whole, by: 8) {
            state.take(Self.word(bytes[start..<start + 8]))
        }
        state.take(Self.word(bytes[whole...]) | UInt64(truncatingIfNeeded: bytes.count) << 56)
        let low = state.finish(0xEE, in: \.c)
        let high = state.finish(0xDD, in: \.b)
        return [low, high].flatMap { word in
            (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
        }
    }

    private static func word(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    private struct State {
        var a: UInt64
        var b: UInt64
        var c: UInt64
        var d: UInt64

        init(_ first: UInt64, _ second: UInt64) {
            a = first ^ 0x736F_6D65_7073_6575
            b = second ^ 0x646F_7261_6E64_6F6D ^ 0xEE
            c = first ^ 0x6C79_6765_6E65_7261
            d = second ^ 0x7465_6462_7974_6573
        }

        mutating func take(_ word: UInt64) {
            d ^= word
            mix(rounds: 2)
            a ^= word
        }

        mutating func finish(_ mark: UInt64, in place: WritableKeyPath<State, UInt64>) -> UInt64 {
            self[keyPath: place] ^= mark
            mix(rounds: 4)
            return a ^ b ^ c ^ d
        }

        private mutating func mix(rounds: Int) {
            for _ in 0..<rounds {
                a &+= b
                b = b << 13 | b >> 51
                b ^= a
                a = a << 32 | a >> 32
                c &+= d
                d = d << 16 | d >> 48
                d ^= c
                a &+= d
                d = d << 21 | d >> 43
                d ^= a
                c &+= b
                b = b << 17 | b >> 47
                b ^= c
                c = c << 32 | c >> 32
            }
        }
    }
}

extension [UInt8] {
    /// Two hexadecimal digits in lower case for each byte.
    package var hexadecimal: String {
        map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
    }
}
