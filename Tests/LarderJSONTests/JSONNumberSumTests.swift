import LarderJSON
import LarderModel
import LarderTestSupport
import Testing

@Suite("The sum of two JSON numbers")
struct JSONNumberSumTests {
    private func number(_ text: String) throws -> JSONNumber {
        guard case .number(let number) = try json(text) else {
            throw JSONError.badNumber(at: 0)
        }
        return number
    }

    @Test(
        "Sums are exact and written plainly",
        arguments: [
            ("0.1", "0.2", "0.3"), ("1", "1", "2"), ("1", "-1", "0"), ("0.5", "-0.5", "0"),
            ("-1", "0.5", "-0.5"), ("9.99", "0.01", "10"), ("999", "1", "1000"),
            ("9223372036854775807", "1", "9223372036854775808"),
            ("-9223372036854775808", "-1", "-9223372036854775809"),
            ("18446744073709551615", "1", "18446744073709551616"), ("1e2", "1", "101"),
            ("1.50", "1", "2.5"), ("1e-3", "1", "1.001"), ("0.1", "-0.3", "-0.2"), ("0", "5", "5"),
            ("-0", "1", "1"), ("1e20", "1e20", "200000000000000000000"), ("1e21", "1e21", "2e21"),
            ("1e400", "1e400", "2e400"), ("1e-400", "1e-400", "2e-400"),
            ("5e-21", "5e-21", "0.00000000000000000001"), ("1E+2", "1E+2", "200"),
        ]
    )
    func sums(left: String, right: String, sum: String) throws {
        #expect(try number(left).adding(number(right))?.text == sum)
        #expect(try number(right).adding(number(left))?.text == sum)
    }

    @Test(
        "Where nothing is added the number stays as it is written",
        arguments: ["0", "-0", "0e9"]
    )
    func zero(zero: String) throws {
        for text in ["1.50", "1e400", "-0", "10e-1", "7", "1e99999999999999999999"] {
            #expect(try number(text).adding(number(zero))?.text == text)
        }
    }

    @Test("Numbers of hundreds of digits are added digit by digit")
    func long() throws {
        let nines = String(repeating: "9", count: 400)
        #expect(
            try number(nines).adding(number("1.5"))?.text
                == "1" + String(repeating: "0", count: 400) + ".5"
        )
        let longest = String(repeating: "9", count: Limits.decimalDigitsMax)
        #expect(try number(longest).adding(number("-1"))?.text.hasSuffix("98") == true)
        #expect(try number(longest + "1").adding(number("1")) == nil)
    }

    @Test("A sum that needs more digits than the limit is none")
    func tooLong() throws {
        #expect(try number("1e1024").adding(number("1")) == nil)
        #expect(try number("1e1023").adding(number("1"))?.text.utf8.count == 1_024)
        #expect(try number("1e-2000").adding(number("1")) == nil)
        #expect(try number("1e99999999999999999999").adding(number("1")) == nil)
        for (text, isAddable) in [
            ("1e1023", true), ("1e1024", false), ("1e-1024", true), ("1e-1025", false),
            ("1e99999999999999999999", false), ("1.000e0000000000000000000001", true),
        ] {
            #expect(try number(text).isAddable == isAddable, "\(text)")
        }
    }

    /// Ten to the power of 0 to 12.
    private static let powers = (0...12).map {
        (0..<$0).reduce(Int128(1)) { power, _ in power * 10 }
    }

    /// The number of so many thousandths, or whatever the scale is, spelled in one of several ways.
    private func spelled(_ units: Int64, scale: Int, _ random: inout SeededRandom) -> String {
        if scale == 0 || random.count(0...2) == 0 { return "\(units)e-\(scale)" }
        let digits = String(units.magnitude)
        let padded = String(repeating: "0", count: max(0, scale + 1 - digits.count)) + digits
        return (units < 0 ? "-" : "") + padded.dropLast(scale) + "." + padded.suffix(scale)
    }

    @Test("Sums agree with those of integers at a common scale", arguments: 1...4)
    func integers(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        for _ in 0..<5_000 {
            let scales = (random.count(0...12), random.count(0...12))
            let bits = random.count(0...62)
            let left = Int64(truncatingIfNeeded: random.next()) >> Int64(bits)
            let right = Int64(truncatingIfNeeded: random.next()) >> Int64(random.count(0...62))
            let texts = (
                spelled(left, scale: scales.0, &random), spelled(right, scale: scales.1, &random)
            )
            let expected =
                Int128(left) * Self.powers[12 - scales.0]
                + Int128(right) * Self.powers[12 - scales.1]
            let sum = try #require(try number(texts.0).adding(number(texts.1)))
            guard sum.hasSameValue(as: try number("\(expected)e-12")) else {
                Issue.record("seed \(seed): \(texts.0) + \(texts.1) = \(sum.text)")
                return
            }
            let isSpelledPlainly =
                left == 0 || right == 0 || !sum.text.contains("e") && !sum.text.hasSuffix(".0")
            #expect(isSpelledPlainly, "seed \(seed): \(sum.text)")
        }
    }

    @Test(
        "Numbers are ordered by their exact value",
        arguments: [
            ("1", "2", true), ("2", "1", false), ("1", "1.0", false), ("1.0", "1", false),
            ("-1", "0", true), ("-0", "0", false), ("9.99", "1e1", true), ("-2", "-1.5", true),
            ("9007199254740992", "9007199254740993", true), ("1e300", "1e301", true),
            ("0.1", "0.10000000000000000001", true), ("1", "1e2000", nil), ("1e2000", "1", nil),
        ] as [(String, String, Bool?)]
    )
    func order(left: String, right: String, isLess: Bool?) throws {
        guard case .number(let left) = try json(left), case .number(let right) = try json(right)
        else { return }
        #expect(left.isLess(than: right) == isLess)
    }
}
