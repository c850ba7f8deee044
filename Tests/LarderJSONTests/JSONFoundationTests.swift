import Foundation
import FuzzTargets
import LarderJSON
import LarderTestSupport
import Testing

/// A second opinion on the grammar: Foundation's parser on random and mutated texts.
@Suite("Agreement with Foundation")
struct JSONFoundationTests {
    @Test("Mutated texts are judged the same", arguments: [1, 2, 3, 4] as [UInt64])
    func mutated(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var (read, refused) = (0, 0)
        for _ in 0..<4_000 {
            var text = random.json(depth: 4)
            for _ in 0..<Int.random(in: 0...3, using: &random) { random.mutate(&text) }
            switch FoundationOpinion.verdict(on: text) {
            case .refused: refused += 1
            case .read: read += 1
            case .differs: continue
            case .disagrees(let words):
                let shown = String(decoding: text, as: UTF8.self)
                Issue.record("seed \(seed): \(words): \(shown.debugDescription)")
                return
            }
        }
        #expect(read > 500 && refused > 500, "seed \(seed): \(read) read, \(refused) refused")
    }

    @Test("Random texts are read to the same value", arguments: [11, 12] as [UInt64])
    func random(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        for _ in 0..<1_000 {
            let text = random.json(depth: 5)
            let shown = String(decoding: text, as: UTF8.self)
            #expect(FoundationOpinion.verdict(on: text) == .read, "seed \(seed): \(shown)")
        }
    }

    @Test("Where we differ we are meant to", arguments: MeantDifference.allCases)
    func meant(difference: MeantDifference) throws {
        let text = difference.example
        #expect(FoundationOpinion.verdict(on: text) == .differs(difference))
        let ours = JSONValidator.accepts(text)
        let theirs = (try? JSONSerialization.jsonObject(with: Data(text))) != nil
        switch difference.kind {
        case .onlyWeRead: #expect(ours && !theirs)
        case .onlyFoundationReads: #expect(!ours && theirs)
        case .otherValue: #expect(ours && theirs)
        }
    }

    @Test("Both read 512 arrays and objects within each other, and no more")
    func nesting() {
        for (open, close) in [("[", "]"), (#"{"a":"#, "}")] {
            func text(_ depth: Int) -> [UInt8] {
                let (opened, closed) = (
                    String(repeating: open, count: depth), String(repeating: close, count: depth)
                )
                return Array((opened + "1" + closed).utf8)
            }
            #expect(FoundationOpinion.verdict(on: text(512)) == .read)
            #expect(FoundationOpinion.verdict(on: text(513)) == .refused)
        }
    }

    @Test("Numbers at the edges of their types are read to the same value")
    func numbers() {
        for number in [
            "9223372036854775807", "-9223372036854775807", "9223372036854775808",
            "18446744073709551615", "-0", "-0.0", "0e0", "1e-400", "1.7976931348623157e308",
            "4.9e-324", "2.2250738585072011e-308",
            "-9223372036854775808", "-12345678901234567890123456789012345678", "0.1E+1",
        ] {
            #expect(FoundationOpinion.verdict(on: Array(number.utf8)) == .read, "\(number)")
        }
    }
}

extension SeededRandom {
    private mutating func word(_ choices: [String]) -> String {
        choices.randomElement(using: &self) ?? ""
    }

    /// A valid text; the names of an object are distinct.
    fileprivate mutating func json(depth: Int) -> [UInt8] {
        Array((space() + value(depth: depth) + space()).utf8)
    }

    private mutating func space() -> String { word(["", "", "", " ", "\n", "\t", "\r\n", "  "]) }

    private mutating func string() -> String {
        let parts = (0..<Int.random(in: 0...6, using: &self)).map { _ in
            word([
                "a", "lorem ipsum", "\\n", "\\\"", "\\\\", "\\/", "é", "€", "\u{1F300}", " ", "{",
            ])
        }
        return "\"" + parts.joined() + "\""
    }

    private mutating func value(depth: Int) -> String {
        switch Int.random(in: 0...(depth > 0 ? 7 : 4), using: &self) {
        case 0: return word(["null", "true", "false"])
        case 1: return word(["0", "-0", "1", "-12", "123456789", "0.5", "-1.25", "10.0625"])
        case 2: return word(["1e3", "2E-2", "5e+1"])
        case 3, 4: return string()
        case 5:
            let elements = (0..<Int.random(in: 0...4, using: &self)).map { _ in
                space() + value(depth: depth - 1) + space()
            }
            return "[" + elements.joined(separator: ",") + space() + "]"
        default:
            let members = (0..<Int.random(in: 0...4, using: &self)).map { index in
                space() + "\"\(index)\(string().dropFirst())" + space() + ":" + space()
                    + value(depth: depth - 1) + space()
            }
            return "{" + members.joined(separator: ",") + space() + "}"
        }
    }
}
