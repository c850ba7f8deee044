import Foundation
import LarderJSON
import LarderTestSupport
import Testing

/// A second opinion on the grammar: Foundation's parser on random and mutated texts.
@Suite("Agreement with Foundation")
struct JSONFoundationTests {
    /// Foundation's parser: what it takes beyond the grammar is left out by ``isComparable(_:)``.
    private func foundationAccepts(_ bytes: [UInt8]) -> Bool {
        (try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)) != nil
    }

    /// Where both must agree: Foundation guesses the encoding from zero bytes and byte order
    /// marks, refuses lone surrogates, and numbers that are no finite double.
    private func isComparable(_ bytes: [UInt8]) -> Bool {
        let hasExponent = zip(bytes, bytes.dropFirst()).contains { digit, letter in
            (0x30...0x39).contains(digit) && letter | 0x20 == UInt8(ascii: "e")
        }
        return !bytes.contains(0) && !bytes.contains(0xFE) && !bytes.contains(0xFF)
            && !bytes.starts(with: [0xEF, 0xBB, 0xBF]) && !hasExponent
            && bytes.firstRange(of: Array("\\u".utf8)) == nil
    }

    @Test("Mutated texts are judged the same", arguments: [1, 2, 3, 4] as [UInt64])
    func mutated(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var verdicts = [true: 0, false: 0]
        for _ in 0..<4_000 {
            var text = random.json(depth: 4)
            for _ in 0..<Int.random(in: 0...3, using: &random) { random.mutate(&text) }
            guard isComparable(text) else { continue }
            let ours = JSONValidator.accepts(text)
            guard ours == foundationAccepts(text) else {
                let shown = String(decoding: text, as: UTF8.self)
                Issue.record("seed \(seed): we say \(ours) to \(shown.debugDescription)")
                return
            }
            verdicts[ours, default: 0] += 1
        }
        #expect(verdicts.values.allSatisfy { $0 > 500 }, "seed \(seed): \(verdicts)")
    }

    @Test("Random texts are accepted and read to the same value", arguments: [11, 12] as [UInt64])
    func random(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        for _ in 0..<1_000 {
            let text = random.json(depth: 5)
            let value = try JSONValue(parsing: text)
            let object = try JSONSerialization.jsonObject(
                with: Data(text),
                options: .fragmentsAllowed
            )
            let same = isSame(value, object)
            #expect(same, "seed \(seed): \(String(decoding: text, as: UTF8.self))")
        }
    }

    private func isSame(_ value: JSONValue, _ object: Any) -> Bool {
        switch value {
        case .null: return object is NSNull
        case .bool(let bool): return (object as? NSNumber)?.boolValue == bool
        case .number(let number): return (object as? NSNumber)?.doubleValue == number.double
        case .string(let text): return (object as? String)?.hasSameBytes(as: text) == true
        case .array(let elements):
            guard let objects = object as? [Any], objects.count == elements.count else {
                return false
            }
            return zip(elements, objects).allSatisfy { isSame($0, $1) }
        case .object(let members):
            guard let objects = object as? [String: Any] else { return false }
            return members.allSatisfy { member in
                objects[member.name].map { isSame(member.value, $0) } ?? false
            }
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

    /// Changes, removes, doubles or inserts a byte, or cuts the text.
    fileprivate mutating func mutate(_ text: inout [UInt8]) {
        guard let place = text.indices.randomElement(using: &self) else { return }
        let telling = Array("{}[]\",:0123.-+tfn\\ \n\tabru/".utf8)
        let byte =
            Bool.random(using: &self)
            ? telling.randomElement(using: &self) ?? 0 : UInt8.random(in: 1...0xFD, using: &self)
        switch Int.random(in: 0...4, using: &self) {
        case 0: text[place] = byte
        case 1: text.remove(at: place)
        case 2: text.insert(text[place], at: place)
        case 3: text.insert(byte, at: place)
        default: text.removeSubrange(place...)
        }
    }
}
