/// A power of ten, exact even where it is written with more digits than an `Int` has.
enum JSONExponent: Hashable {
    /// At most 18 digits.
    case small(Int)
    /// Digits 0 to 9, more than 18, of which the first is not zero.
    case large(isNegative: Bool, digits: [UInt8])

    private static let smallDigitsMax = 18

    /// Reads the text after the `e` of a number; an empty text is zero.
    init(text: Substring.UTF8View) {
        let isNegative = text.first == UInt8(ascii: "-")
        let digits = text.filter { $0 &- UInt8(ascii: "0") < 10 }.map { $0 - UInt8(ascii: "0") }
        self.init(isNegative: isNegative, digits: digits)
    }

    private init(isNegative: Bool, digits: [UInt8]) {
        let digits = Array(digits.drop { $0 == 0 })
        if digits.count > Self.smallDigitsMax {
            self = .large(isNegative: isNegative, digits: digits)
        } else {
            let number = digits.reduce(0) { $0 * 10 + Int($1) }
            self = .small(isNegative ? -number : number)
        }
    }

    /// `shift` is a count of digits in memory, so far smaller than what is large here.
    func adding(_ shift: Int) -> JSONExponent {
        switch self {
        case .small(let number):
            let sum = number + shift
            let digits = String(sum.magnitude).utf8.map { $0 - UInt8(ascii: "0") }
            return JSONExponent(isNegative: sum < 0, digits: digits)
        case .large(let isNegative, let digits):
            let sum = Self.sum(digits, isNegative ? -shift : shift)
            return JSONExponent(isNegative: isNegative, digits: sum)
        }
    }

    private static func sum(_ digits: [UInt8], _ shift: Int) -> [UInt8] {
        var sum = digits
        var carry = shift
        var place = sum.count
        while carry != 0 {
            if place == 0 {
                sum.insert(0, at: 0)
                place = 1
            }
            place -= 1
            let number = Int(sum[place]) + carry
            let digit = (number % 10 + 10) % 10
            sum[place] = UInt8(digit)
            carry = (number - digit) / 10
        }
        return sum
    }

    var text: String {
        switch self {
        case .small(let number): return String(number)
        case .large(let isNegative, let digits):
            let figures = String(decoding: digits.map { $0 + UInt8(ascii: "0") }, as: UTF8.self)
            return (isNegative ? "-" : "") + figures
        }
    }
}
