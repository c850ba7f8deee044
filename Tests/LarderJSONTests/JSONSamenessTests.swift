import LarderJSON
import LarderTestSupport
import Testing

@Suite("Sameness of two JSON values")
struct JSONSamenessTests {
    @Test(
        "Two spellings of one value say the same",
        arguments: [
            ("1", "1.0"), ("1", "1e0"), ("1", "10e-1"), ("0.1", "0.10"), ("0", "-0"),
            ("0", "0.00e999"), ("100", "1E+2"), ("-0.5", "-5e-1"), ("1e400", "10e399"),
            ("1e99999999999999999999", "10e99999999999999999998"),
            ("1e1000000000000000000", "10e999999999999999999"),
            ("1e-1000000000000000000", "0.1e-999999999999999999"),
            ("0.001e-99999999999999999999", "1e-100000000000000000002"),
            ("1e00000000000000000000000001", "10"),
            (#""\u0041""#, #""A""#), (#"{"a":1,"b":[2]}"#, #"{"b":[2.0],"a":1}"#),
            (#"{"a":1,"a":2}"#, #"{"a":2}"#), (#"{"a":1,"a":2}"#, #"{"a":3,"a":2}"#),
            (#"{"a":1,"b":1,"a":2}"#, #"{"b":1,"a":2}"#), ("[]", " [ ] "), ("{}", "{ }"),
            (#"{"a":{"x":1,"y":2},"b":0}"#, #"{"b":0,"a":{"y":2,"x":1}}"#),
        ]
    )
    func same(left: String, right: String) throws {
        #expect(try json(left).isSame(as: json(right)))
        #expect(try json(right).isSame(as: json(left)))
        #expect(try json(left).canonicalBytes == json(right).canonicalBytes)
    }

    @Test(
        "Values of other kinds, orders or texts do not",
        arguments: [
            ("1", #""1""#), ("1", "true"), ("0", "false"), ("0", "null"), (#""""#, "null"),
            ("[]", "{}"), ("1", "-1"), ("1", "1.0000000000000000000000000001"), ("1", "10"),
            ("1e400", "1e401"), ("9007199254740993", "9007199254740992"), ("1e-400", "0"),
            ("1e99999999999999999999", "1e99999999999999999998"),
            ("1e99999999999999999999", "1e-99999999999999999999"),
            ("[1,2]", "[2,1]"), ("[1]", "[1,1]"), (#"{"a":1}"#, #"{"a":1,"b":null}"#),
            (#"{"a":1,"a":2}"#, #"{"a":1}"#), (#"{"a":1,"a":2}"#, #"{"a":1,"a":3}"#),
            (#"{"a":1,"b":1}"#, #"{"a":1,"c":1}"#), (#"{"é":1}"#, "{\"e\u{301}\":1}"),
            (#""é""#, "\"e\u{301}\""), (#"{"a":1,"a":1}"#, #"{"a":1,"b":1}"#),
        ]
    )
    func different(left: String, right: String) throws {
        #expect(try !json(left).isSame(as: json(right)))
        #expect(try !json(right).isSame(as: json(left)))
    }

    @Test("Numbers of 400 digits are compared to the last one")
    func manyDigits() throws {
        let digits = String(repeating: "1234567890", count: 40)
        #expect(try json(digits).isSame(as: json(digits + ".000")))
        #expect(try json(digits).isSame(as: json("0." + digits + "e400")))
        #expect(try !json(digits + "1").isSame(as: json(digits + "2")))
    }

    @Test("Objects that differ in order at every level are compared in one pass")
    func deepReordering() throws {
        func nested(_ depth: Int, _ isTurned: Bool) -> JSONValue {
            (0..<depth).reduce(.null) { inner, _ in
                let members = [
                    JSONMember(name: "a", value: inner), JSONMember(name: "b", value: .null),
                ]
                return .object(isTurned ? members.reversed() : members)
            }
        }
        #expect(nested(400, true).isSame(as: nested(400, false)))
    }

    /// A spelling that is one for all that say the same: sorted names, each once, plain numbers.
    private func normalized(_ value: JSONValue) -> String {
        switch value {
        case .number(let number):
            // A sum with a number that is no zero is written in one way only.
            return (number.adding(JSONNumber(1))?.adding(JSONNumber(-1)) ?? number).text
        case .array(let elements):
            return "[" + elements.map(normalized).joined(separator: ",") + "]"
        case .object(let members):
            var last: [[UInt8]: String] = [:]
            for member in members {
                last[Array(member.name.utf8)] =
                    JSONValue.string(member.name).text + ":" + normalized(member.value)
            }
            let sorted = last.sorted { $0.key.lexicographicallyPrecedes($1.key) }
            return "{" + sorted.map(\.value).joined(separator: ",") + "}"
        case .null, .bool, .string: return value.text
        }
    }

    @Test("Sameness agrees with a normalized spelling, and is symmetric", arguments: 1...4)
    func normalization(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var counts = [true: 0, false: 0]
        for _ in 0..<5_000 {
            let left = try random.anyValue(depth: 3)
            let right =
                try random.count(0...1) == 0
                ? random.respelled(left) : random.anyValue(depth: 2)
            let isSame = left.isSame(as: right)
            let agrees = Array(normalized(left).utf8) == Array(normalized(right).utf8)
            guard isSame == agrees, right.isSame(as: left) == isSame, left.isSame(as: left) else {
                Issue.record("seed \(seed): \(left.text) and \(right.text): \(isSame)")
                return
            }
            counts[isSame, default: 0] += 1
        }
        #expect(counts.values.allSatisfy { $0 > 500 }, "seed \(seed): \(counts)")
    }
}
