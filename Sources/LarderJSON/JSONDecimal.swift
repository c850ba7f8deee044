import LarderModel

/// Exact value of a JSON number in any spelling: `1`, `1.0` and `1e0` are equal.
struct JSONDecimal: Hashable {
    /// False for zero.
    let isNegative: Bool
    /// Digits 0 to 9, of which neither the first nor the last is zero; none for zero.
    let digits: [UInt8]
    /// The power of ten that the last digit counts.
    let exponent: JSONExponent

    /// Trims the zeros off `digits`.
    private init(isNegative: Bool, digits: ArraySlice<UInt8>, exponent: JSONExponent) {
        var digits = digits.drop { $0 == 0 }
        let count = digits.count
        while digits.last == 0 { digits.removeLast() }
        self.digits = Array(digits)
        self.isNegative = isNegative && !digits.isEmpty
        self.exponent = digits.isEmpty ? .small(0) : exponent.adding(count - digits.count)
    }

    init(_ number: JSONNumber) {
        var digits: [UInt8] = []
        var fraction = 0
        var hasPoint = false
        var text = number.text.utf8[...]
        let isNegative = text.first == UInt8(ascii: "-")
        if isNegative { text.removeFirst() }
        while let byte = text.first, byte | 0x20 != UInt8(ascii: "e") {
            text.removeFirst()
            if byte == UInt8(ascii: ".") {
                hasPoint = true
            } else {
                digits.append(byte - UInt8(ascii: "0"))
                fraction += hasPoint ? 1 : 0
            }
        }
        let exponent = JSONExponent(text: text.dropFirst())
        self.init(
            isNegative: isNegative,
            digits: digits[...],
            exponent: exponent.adding(-fraction)
        )
    }

    var negated: JSONDecimal {
        JSONDecimal(isNegative: !isNegative, digits: digits[...], exponent: exponent)
    }

    /// Whether it can be added to others: it needs no more digits than are calculated with.
    var isAddable: Bool {
        guard case .small(let exponent) = exponent else { return false }
        return max(digits.count + max(exponent, 0), -exponent) <= Limits.decimalDigitsMax
    }
}

extension JSONDecimal {
    /// The exact sum; nil where it takes more digits than are calculated with.
    static func sum(_ left: JSONDecimal, _ right: JSONDecimal) -> JSONDecimal? {
        guard !left.digits.isEmpty else { return right }
        guard !right.digits.isEmpty else { return left }
        guard case .small(let leftExponent) = left.exponent,
            case .small(let rightExponent) = right.exponent
        else { return nil }
        let low = min(leftExponent, rightExponent)
        let high = max(leftExponent + left.digits.count, rightExponent + right.digits.count)
        guard high - low <= Limits.decimalDigitsMax else { return nil }
        // The carry of the highest digit needs one more place.
        let width = high - low + 1
        let first = left.aligned(width: width, low: low)
        let second = right.aligned(width: width, low: low)
        let exponent = JSONExponent.small(low)
        if left.isNegative == right.isNegative {
            let digits = added(first, second)
            return JSONDecimal(
                isNegative: left.isNegative,
                digits: digits[...],
                exponent: exponent
            )
        }
        let isLeftLarger = second.lexicographicallyPrecedes(first)
        let digits = isLeftLarger ? subtracted(first, second) : subtracted(second, first)
        return JSONDecimal(
            isNegative: isLeftLarger ? left.isNegative : right.isNegative,
            digits: digits[...],
            exponent: exponent
        )
    }

    /// The digits in `width` places, of which the last counts ten to the power of `low`.
    private func aligned(width: Int, low: Int) -> [UInt8] {
        guard case .small(let exponent) = exponent else { return [] }
        let behind = exponent - low
        return [UInt8](repeating: 0, count: width - digits.count - behind) + digits
            + [UInt8](repeating: 0, count: behind)
    }

    private static func added(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
        var sum = left
        var carry: UInt8 = 0
        for place in sum.indices.reversed() {
            let digit = left[place] + right[place] + carry
            sum[place] = digit % 10
            carry = digit / 10
        }
        return sum
    }

    /// `left` is at least `right`.
    private static func subtracted(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
        var difference = left
        var borrow: UInt8 = 0
        for place in difference.indices.reversed() {
            let digit = 10 + left[place] - right[place] - borrow
            difference[place] = digit % 10
            borrow = digit < 10 ? 1 : 0
        }
        return difference
    }
}

extension JSONDecimal {
    /// Zeros that are written out before or after the digits; with more there is an exponent.
    private static let paddingMax = 20

    /// The shortest plain spelling: `0.3`, `-12`, `100`; with an exponent where that would need
    /// more than ``paddingMax`` zeros.
    var text: String {
        guard !digits.isEmpty else { return "0" }
        let sign = isNegative ? "-" : ""
        let figures = String(decoding: digits.map { $0 + UInt8(ascii: "0") }, as: UTF8.self)
        guard case .small(let exponent) = exponent else {
            return sign + figures + "e" + self.exponent.text
        }
        let whole = digits.count + exponent
        if exponent >= 0, exponent <= Self.paddingMax {
            return sign + figures + String(repeating: "0", count: exponent)
        }
        if exponent < 0, whole > 0 {
            return sign + figures.prefix(whole) + "." + figures.dropFirst(whole)
        }
        if exponent < 0, -whole <= Self.paddingMax {
            return sign + "0." + String(repeating: "0", count: -whole) + figures
        }
        return sign + figures + "e\(exponent)"
    }
}
