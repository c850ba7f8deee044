extension Duration {
    /// Reads delta-seconds: digits and nothing else; nil for others.
    ///
    /// What is too large is as good as for ever, 2³¹ seconds (RFC 9111 1.2.2).
    init?(deltaSeconds text: String) {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        self = .seconds(min(Int64(text) ?? .max, 2_147_483_648))
    }
}
