import LarderJSON
import LarderTestSupport

/// Answers from few types, ids and names, so that they often share entities.
struct RandomAnswers {
    var random: SeededRandom
    /// Whether white space, escapes and the spelling of numbers vary, and names come twice.
    let variesSpelling: Bool

    init(seed: UInt64, variesSpelling: Bool) {
        random = SeededRandom(seed: seed)
        self.variesSpelling = variesSpelling
    }

    mutating func answer() -> String {
        var text = space()
        text += value(depth: 5)
        return text + space()
    }

    private static let names = ["a", "b", "c", "", "é", "$ref", "l/m~"]

    private mutating func value(depth: Int) -> String {
        switch random.count(0...(depth > 0 ? 13 : 3)) {
        case 0: return random.pick(["null", "true", "false"])
        case 1: return number()
        case 2, 3: return string(random.pick(["", "x", "é", "1", "y/z"]))
        case 4, 5, 6: return array(depth: depth)
        case 7: return object(names: randomNames(), depth: depth, head: [])
        case 8, 9: return entities(depth: depth)
        default: return entity(depth: depth)
        }
    }

    private mutating func number() -> String {
        let number = random.pick(["0", "1", "2", "-1", "12345678901234567890"])
        guard variesSpelling else { return number }
        return number + random.pick(["", ".0", "e0", ".00E+0", "E-0"])
    }

    mutating func string(_ text: String) -> String {
        guard variesSpelling else { return "\"\(text)\"" }
        return "\""
            + text.unicodeScalars.map { scalar in
                guard random.chance(20) else { return String(scalar) }
                let digits = String(scalar.value, radix: 16, uppercase: random.chance(50))
                return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }.joined() + "\""
    }

    private mutating func space() -> String {
        guard variesSpelling else { return "" }
        return random.chance(70) ? "" : random.pick([" ", "\n", "\t ", "\r\n  "])
    }

    private mutating func array(depth: Int) -> String {
        let elements = (0..<random.count(0...4)).map { _ in
            space() + value(depth: depth - 1) + space()
        }
        return "[" + (elements.isEmpty ? space() : elements.joined(separator: ",")) + "]"
    }

    /// A list of entities, of several types now and then.
    private mutating func entities(depth: Int) -> String {
        let elements = (0..<random.count(1...3)).map { _ in
            space() + entity(depth: depth - 1) + space()
        }
        return "[" + elements.joined(separator: ",") + "]"
    }

    private mutating func randomNames() -> [String] {
        (0..<random.count(0...4)).map { _ in random.pick(Self.names) }
    }

    private mutating func entity(depth: Int) -> String {
        let id = "\(random.count(1...3))"
        let head = [
            (name: "type", value: string(random.pick(["A", "B", "C"]))),
            (name: "id", value: random.chance(80) ? id : string(id)),
        ]
        return object(names: randomNames(), depth: depth, head: head)
    }

    private mutating func object(
        names: [String],
        depth: Int,
        head: [(name: String, value: String)]
    ) -> String {
        var members = head
        for name in names {
            let isKnown = members.contains { $0.name == name }
            guard !isKnown || (variesSpelling && !head.isEmpty && random.chance(30)) else {
                continue
            }
            members.append((name, value(depth: depth - 1)))
        }
        if variesSpelling { members.shuffle(using: &random) }
        let texts = members.map {
            space() + string($0.name) + space() + ":" + space() + $0.value + space()
        }
        return "{" + (texts.isEmpty ? space() : texts.joined(separator: ",")) + "}"
    }
}

extension SeededRandom {
    mutating func count(_ range: ClosedRange<Int>) -> Int {
        Int.random(in: range, using: &self)
    }

    mutating func chance(_ percent: Int) -> Bool { count(1...100) <= percent }
}
