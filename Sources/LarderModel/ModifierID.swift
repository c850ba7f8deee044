/// The name of a modifier: the client's own, or one that the daemon made (``ulid(at:using:)``).
///
/// It names one modifier within its scope, and is what its idempotency keys are made of, so it is
/// of letters that every header takes.
package struct ModifierID: Hashable, Sendable, CustomStringConvertible {
    package let text: String

    package var description: String { text }

    /// Takes 1 to 128 letters, digits, `.`, `_`, `:`, `@` and `-`.
    package init(_ text: String) throws(ModelError) {
        guard (1...Limits.modifierIDBytesMax).contains(text.utf8.count),
            text.utf8.allSatisfy(Self.allows)
        else { throw .badModifierID(text) }
        self.text = text
    }

    private init(unchecked text: String) {
        self.text = text
    }

    private static func allows(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    /// A new name: 48 bits of the time in milliseconds and 80 drawn ones, as 26 letters of
    /// Crockford's base 32 (https://github.com/ulid/spec).
    package static func ulid(
        at moment: Timestamp,
        using generator: inout some RandomNumberGenerator
    ) -> ModifierID {
        let time = UInt64(moment.milliseconds.clamped(to: 0...(1 << 48 - 1)))
        var letters: [UInt8] = []
        for place in (0..<10).reversed() {
            letters.append(crockford[Int(time >> UInt64(place * 5) & 31)])
        }
        for _ in 0..<2 {
            let drawn = generator.next()
            for place in 0..<8 { letters.append(crockford[Int(drawn >> UInt64(place * 5) & 31)]) }
        }
        return ModifierID(unchecked: String(decoding: letters, as: UTF8.self))
    }
}

/// Without the letters I, L, O and U.
private let crockford = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
