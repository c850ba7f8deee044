/// The text of bytes, for a readable comparison.
func text(_ bytes: [UInt8]) -> String {
    String(decoding: bytes, as: UTF8.self)
}

func bytes(_ text: String) -> [UInt8] {
    Array(text.utf8)
}
