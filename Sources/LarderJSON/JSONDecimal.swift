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

/// Halves of surrogate pairs in a `String`: JSON can escape them (`"\ud800"`) and UTF-8 cannot hold
/// them.
///
/// Each half `U+D800...U+DFFF` is a scalar of `U+10F000...U+10F7FF`, private use, and is written as
/// its escape again. A text that contains one of these scalars itself has both halves of its
/// surrogate pair, which is the same JSON string. So no two strings of JSON have one text.
package enum JSONHalves {
    /// How the bytes of a text have them.
    package enum Form {
        /// As scalars of private use, in a `String`.
        case scalars
        /// In three bytes of their own (WTF-8).
        case wtf8

        /// The first byte of each half.
        var lead: UInt8 {
            switch self {
            case .scalars: JSONHalves.lead
            case .wtf8: JSONHalves.halfLead
            }
        }

        var byteCount: Int { self == .scalars ? 4 : 3 }
    }

    /// First byte of these scalars in UTF-8.
    private static let lead: UInt8 = 0xF4
    /// First byte of half a surrogate pair in WTF-8.
    private static let halfLead: UInt8 = 0xED
    private static let firstHalf: UInt32 = 0xD800

    /// The text of bytes in WTF-8 (https://simonsapin.github.io/wtf-8/).
    static func text(_ content: some Collection<UInt8>) -> String {
        guard content.contains(where: { $0 == lead || $0 == halfLead }) else {
            return String(decoding: content, as: UTF8.self)
        }
        let bytes = Array(content)
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count + 8)
        var index = 0
        while index < bytes.count {
            if bytes[index] == halfLead, index + 2 < bytes.count, bytes[index + 1] >= 0xA0 {
                let tail = UInt32(bytes[index + 1] & 0x1F) << 6 | UInt32(bytes[index + 2] & 0x3F)
                text += scalar(of: firstHalf + tail)
                index += 3
            } else if let number = number(bytes[index...]) {
                let supplementary = 0xFF000 + number
                text += scalar(of: 0xD800 + supplementary >> 10)
                text += scalar(of: 0xDC00 + supplementary & 0x3FF)
                index += 4
            } else {
                text.append(bytes[index])
                index += 1
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Escape of the half with which the bytes of a text begin, if there is one; it takes the place
    /// of ``Form/byteCount`` bytes.
    static func escape(_ bytes: some Collection<UInt8>, _ form: Form) -> [UInt8]? {
        let number = form == .scalars ? number(bytes) : numberOfHalf(bytes)
        return number.map { Array("\\u\(String(firstHalf + $0, radix: 16))".utf8) }
    }

    /// Number of the half in WTF-8 with which bytes begin.
    private static func numberOfHalf(_ bytes: some Collection<UInt8>) -> UInt32? {
        let half = Array(bytes.prefix(3))
        guard half.count == 3, half[0] == halfLead, half[1] >= 0xA0, half[2] & 0xC0 == 0x80 else {
            return nil
        }
        return UInt32(half[1] & 0x1F) << 6 | UInt32(half[2] & 0x3F)
    }

    /// Number of the scalar among these with which bytes of UTF-8 begin.
    private static func number(_ bytes: some Collection<UInt8>) -> UInt32? {
        guard bytes.first == lead else { return nil }
        let scalar = Array(bytes.prefix(4))
        guard scalar.count == 4, scalar[1] == 0x8F, scalar[2] < 0xA0 else { return nil }
        return UInt32(scalar[2] & 0x1F) << 6 | UInt32(scalar[3] & 0x3F)
    }

    private static func scalar(of half: UInt32) -> [UInt8] {
        let number = half - firstHalf
        return [lead, 0x8F, UInt8(0x80 | number >> 6), UInt8(0x80 | number & 0x3F)]
    }
}

/// A number as it was written, so that nothing of it is lost.
package struct JSONNumber: Hashable, Sendable {
    package let text: String

    init(unchecked text: String) {
        self.text = text
    }

    package init(_ number: Int64) {
        text = String(number)
    }

    /// The number where it is written as an integer (`1`, not `1.0` or `1e0`) that fits.
    package var integer: Int64? { Int64(text) }
}

extension JSONNumber {
    /// Whether both are worth the same: `1` and `1.0` and `10e-1` are, exactly, without a double.
    package func hasSameValue(as other: JSONNumber) -> Bool {
        text.hasSameBytes(as: other.text) || JSONDecimal(self) == JSONDecimal(other)
    }

    /// Whether it is worth less than the other one, exactly; nil where telling takes more digits
    /// than ``Limits/decimalDigitsMax``.
    package func isLess(than other: JSONNumber) -> Bool? {
        if let left = integer, let right = other.integer { return left < right }
        return JSONDecimal.sum(JSONDecimal(self), JSONDecimal(other).negated)?.isNegative
    }

    /// Whether it can be added: it has at most ``Limits/decimalDigitsMax`` digits on each side of
    /// the point.
    package var isAddable: Bool { JSONDecimal(self).isAddable }

    /// The exact decimal sum, so 0.1 and 0.2 make 0.3.
    ///
    /// Returns nil if the sum takes more digits than ``Limits/decimalDigitsMax``. The sum has no
    /// needless zeros after the point. If the other number is zero, this one keeps its spelling.
    package func adding(_ other: JSONNumber) -> JSONNumber? {
        if let left = integer, let right = other.integer {
            let (sum, isTooLarge) = left.addingReportingOverflow(right)
            if !isTooLarge, right != 0 { return JSONNumber(sum) }
        }
        let addend = JSONDecimal(other)
        guard !addend.digits.isEmpty else { return self }
        return JSONDecimal.sum(JSONDecimal(self), addend).map { JSONNumber(unchecked: $0.text) }
    }
}

/// Where a number ends.
enum JSONNumberScan {
    /// The offset after the number that begins at `start` with a minus sign or a digit.
    ///
    /// `number = [ "-" ] int [ "." 1*DIGIT ] [ ("e" / "E") [ "+" / "-" ] 1*DIGIT ]` (RFC 8259 6).
    static func end(
        in bytes: UnsafeRawBufferPointer,
        from start: Int
    ) throws(JSONError) -> Int {
        var position = start
        if bytes[position] == UInt8(ascii: "-") { position += 1 }
        let firstDigit = position
        position = try digits(in: bytes, from: position)
        if bytes[firstDigit] == UInt8(ascii: "0"), position > firstDigit + 1 {
            throw .badNumber(at: firstDigit)
        }
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
            position = try digits(in: bytes, from: position + 1)
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if position < bytes.count,
                bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-")
            {
                position += 1
            }
            position = try digits(in: bytes, from: position)
        }
        return position
    }

    /// Passes over one digit or more.
    private static func digits(
        in bytes: UnsafeRawBufferPointer,
        from start: Int
    ) throws(JSONError) -> Int {
        var position = start
        while position < bytes.count, bytes[position] &- UInt8(ascii: "0") < 10 { position += 1 }
        guard position > start else {
            throw position < bytes.count
                ? .badNumber(at: position) : .unexpectedEnd(at: position)
        }
        return position
    }
}
