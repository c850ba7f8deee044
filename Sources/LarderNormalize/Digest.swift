/// A hash of 64 bits that is the same in every run: for checks and comparisons, not for trust.
///
/// Source: the multiply-and-fold step of wyhash, https://github.com/wangyi-fudan/wyhash.
enum Digest {
    private static let factor: UInt64 = 0xA076_1D64_78BD_642F
    private static let other: UInt64 = 0xE703_7ED1_A0B4_28DB

    static func of(_ bytes: UnsafeRawBufferPointer, seed: UInt64 = 0) -> UInt64 {
        var digest = folded(seed ^ other, UInt64(bytes.count) ^ factor)
        var position = 0
        if bytes.count >= 64 {
            // Two at a time, as neither waits for the other's product.
            var twin = digest ^ factor
            while position + 16 <= bytes.count {
                let first = word(bytes, position)
                let second = word(bytes, position + 8)
                digest = folded(digest ^ first, factor) &+ first
                twin = folded(twin ^ second, other) &+ second
                position += 16
            }
            digest = folded(digest ^ other, twin ^ factor) &+ twin
        }
        while position + 8 <= bytes.count {
            let word = word(bytes, position)
            digest = folded(digest ^ word, factor) &+ word
            position += 8
        }
        var rest: UInt64 = 0
        while position < bytes.count {
            rest = rest << 8 | UInt64(bytes[position])
            position += 1
        }
        digest = folded(digest ^ rest, factor) &+ rest
        return folded(digest ^ factor, other)
    }

    @inline(__always)
    private static func word(_ bytes: UnsafeRawBufferPointer, _ position: Int) -> UInt64 {
        bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self).littleEndian
    }

    @inline(__always)
    private static func folded(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}
