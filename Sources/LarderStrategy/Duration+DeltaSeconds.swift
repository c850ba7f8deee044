import LarderModel

extension Duration {
    /// Reads delta-seconds: digits and nothing else; nil for others.
    ///
    /// A larger number counts as 2³¹ seconds, which means for ever (RFC 9111 1.2.2).
    init?(deltaSeconds text: String) {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        self = .seconds(min(Int64(text) ?? .max, 2_147_483_648))
    }
}

extension HeaderFields {
    /// The age of an answer at its arrival (RFC 9111 5.1), from the first value of several.
    ///
    /// Nil if that value cannot be read.
    var age: Duration? {
        guard let value = list("Age") else { return .zero }
        let first = value.prefix { $0 != "," }
        return Duration(deltaSeconds: String(first.filter { $0 != " " && $0 != "\t" }))
    }
}
