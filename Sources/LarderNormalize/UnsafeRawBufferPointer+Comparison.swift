extension UnsafeRawBufferPointer {
    /// Whether the bytes in `range` are those of `other`.
    @inline(__always)
    func hasBytes(_ range: Range<Int>, _ other: UnsafeRawBufferPointer) -> Bool {
        guard range.count == other.count else { return false }
        var index = 0
        let start = range.lowerBound
        while index + 8 <= other.count {
            let left = loadUnaligned(fromByteOffset: start + index, as: UInt64.self)
            let right = other.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            guard left == right else { return false }
            index += 8
        }
        while index < other.count {
            guard self[start + index] == other[index] else { return false }
            index += 1
        }
        return true
    }

    /// The part of it.
    @inline(__always)
    func part(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self[range])
    }
}
