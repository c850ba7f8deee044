import LarderModel
import LarderTestSupport
import Testing

@Suite("Bytes of field values")
struct FieldBytesTests {
    @Test("Any bytes become valid UTF-8, each its own, and come back")
    func roundTrip() {
        var random = SeededRandom(seed: 7)
        let alphabet: [UInt8] = [
            0x41, 0x80, 0xBE, 0xC3, 0xA9, 0xE9, 0xF4, 0x8F, 0xBF, 0xFF, 0x90,
        ]
        var texts: Set<[UInt8]> = []
        var all: Set<[UInt8]> = []
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...6, using: &random)).map { _ in
                random.pick(alphabet)
            }
            let text = String(fieldBytes: bytes)
            #expect(Array(text.utf8) == FieldBytes.escaped(bytes))
            #expect(FieldBytes.unescaped(text.utf8) == bytes)
            all.insert(bytes)
            texts.insert(Array(text.utf8))
        }
        #expect(texts.count == all.count)
    }

    @Test("Text in UTF-8 stays what it is", arguments: ["", "a", "é", "\u{1F600}", "\u{10FF7F}"])
    func text(text: String) {
        #expect(String(fieldBytes: Array(text.utf8)) == text)
        #expect(FieldBytes.unescaped(text.utf8) == Array(text.utf8))
    }
}
