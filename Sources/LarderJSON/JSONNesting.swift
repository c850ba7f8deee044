/// Which of the open arrays and objects are objects: one bit a level, on the stack.
struct JSONNesting {
    /// Levels that fit: `Limits.jsonDepthMax` and what our own frames put around a body.
    static let depthMax = 576

    private var words: InlineArray<9, UInt64> = .init(repeating: 0)

    func isObject(_ level: Int) -> Bool {
        words[level >> 6] & (1 << UInt64(level & 63)) != 0
    }

    mutating func set(_ level: Int, isObject: Bool) {
        let bit: UInt64 = 1 << UInt64(level & 63)
        if isObject {
            words[level >> 6] |= bit
        } else {
            words[level >> 6] &= ~bit
        }
    }
}
