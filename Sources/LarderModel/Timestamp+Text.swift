extension Timestamp {
    /// RFC 3339 in UTC with milliseconds: `2026-11-20T18:43:27.120Z`.
    ///
    /// By bytes: a page of 1,000 entries prints 2,000.
    package var rfc3339: String {
        let time = CivilTime(self)
        let year = digits(time.year, 4)
        return String(unsafeUninitializedCapacity: 20 + year.utf8.count) { text in
            var end = 0
            func write(_ byte: UInt8) {
                text[end] = byte
                end += 1
            }
            func write(_ number: Int, before mark: Unicode.Scalar) {
                write(UInt8(ascii: "0") + UInt8(number / 10))
                write(UInt8(ascii: "0") + UInt8(number % 10))
                write(UInt8(ascii: mark))
            }
            for byte in year.utf8 { write(byte) }
            write(dash)
            write(time.month, before: "-")
            write(time.day, before: "T")
            write(time.hour, before: ":")
            write(time.minute, before: ":")
            write(time.second, before: ".")
            write(UInt8(ascii: "0") + UInt8(time.millisecond / 100))
            write(time.millisecond % 100, before: "Z")
            return end
        }
    }

    /// An IMF-fixdate (RFC 9110 5.6.7): `Fri, 20 Nov 2026 18:43:27 GMT`.
    ///
    /// By bytes: a hit prints one.
    package var httpDate: String {
        let time = CivilTime(self)
        let year = digits(time.year, 4)
        return String(unsafeUninitializedCapacity: 25 + year.utf8.count) { text in
            var end = 0
            func write(_ part: String) {
                for byte in part.utf8 {
                    text[end] = byte
                    end += 1
                }
            }
            func write(_ number: Int) {
                text[end] = UInt8(ascii: "0") + UInt8(number / 10)
                text[end + 1] = UInt8(ascii: "0") + UInt8(number % 10)
                end += 2
            }
            write(dayNames[time.weekday])
            write(", ")
            write(time.day)
            write(" ")
            write(monthNames[time.month - 1])
            write(" ")
            write(year)
            write(" ")
            write(time.hour)
            write(":")
            write(time.minute)
            write(":")
            write(time.second)
            write(" GMT")
            return end
        }
    }

    /// Reads ``rfc3339``: UTC, with or without milliseconds; nil for others.
    package init?(rfc3339 text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 20 || bytes.count == 24, bytes.last == UInt8(ascii: "Z"),
            bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
            bytes[10] == UInt8(ascii: "T"), bytes[13] == UInt8(ascii: ":"),
            bytes[16] == UInt8(ascii: ":"), bytes.count == 20 || bytes[19] == UInt8(ascii: "."),
            let year = number(bytes[0..<4]), let month = number(bytes[5..<7]),
            let day = number(bytes[8..<10]), let hour = number(bytes[11..<13]),
            let minute = number(bytes[14..<16]), let second = number(bytes[17..<19]),
            let millisecond = bytes.count == 24 ? number(bytes[20..<23]) : 0
        else { return nil }
        let time = CivilTime(
            year: year,
            month: month,
            day: day,
            hour: hour,
            minute: minute,
            second: second,
            millisecond: millisecond
        )
        guard time.isValid else { return nil }
        self = time.timestamp
    }

    /// Reads the three forms of RFC 9110 5.6.7, IMF-fixdate, RFC 850 and asctime, as they are spelled
    /// there and with space around them at most; nil for others.
    ///
    /// A year of two digits that would lie more than 50 years after `now` is in the past century.
    package init?(httpDate text: String, now: Timestamp) {
        let bytes = text.utf8.drop(while: \.isBlank)
        let date = Array(bytes.reversed().drop(while: \.isBlank).reversed())
        guard let parsed = imfDate(date) ?? rfc850Date(date, now) ?? asctimeDate(date) else {
            return nil
        }
        self = parsed.timestamp
    }
}

private let dayNames = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
private let longDayNames = [
    "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
]
private let space = UInt8(ascii: " ")
private let dash = UInt8(ascii: "-")
private let monthNames = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
]

private func digits(_ number: Int, _ width: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
}

private typealias Bytes = ArraySlice<UInt8>

/// The number that one to four digits spell; nil for other text.
private func number(_ digits: some Collection<UInt8>) -> Int? {
    guard (1...4).contains(digits.count), digits.allSatisfy(\.isASCIIDigit) else { return nil }
    return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
}

/// Reads `Sun, 06 Nov 1994 08:49:37 GMT`.
private func imfDate(_ date: [UInt8]) -> CivilTime? {
    guard date.count == 29, dayNames.contains(where: { date[..<3].elementsEqual($0.utf8) }),
        date[3..<5].elementsEqual(", ".utf8), date[7] == space, date[11] == space,
        date[16] == space, date[25...].elementsEqual(" GMT".utf8)
    else { return nil }
    return civilTime(number(date[5..<7]), date[8..<11], number(date[12..<16]), date[17..<25])
}

/// Reads `Sunday, 06-Nov-94 08:49:37 GMT`.
private func rfc850Date(_ date: [UInt8], _ now: Timestamp) -> CivilTime? {
    guard let name = longDayNames.first(where: { date.starts(with: "\($0), ".utf8) }) else {
        return nil
    }
    let rest = Array(date.dropFirst(name.utf8.count + 2))
    guard rest.count == 22, rest[2] == dash, rest[6] == dash, rest[9] == space,
        rest[18...].elementsEqual(" GMT".utf8), let short = number(rest[7..<9])
    else { return nil }
    let thisYear = CivilTime(now).year
    let year = thisYear - thisYear % 100 + short
    return civilTime(
        number(rest[0..<2]),
        rest[3..<6],
        year > thisYear + 50 ? year - 100 : year,
        rest[10..<18]
    )
}

/// Reads `Sun Nov  6 08:49:37 1994`.
private func asctimeDate(_ date: [UInt8]) -> CivilTime? {
    guard date.count == 24, dayNames.contains(where: { date[..<3].elementsEqual($0.utf8) }),
        date[3] == space, date[7] == space, date[10] == space, date[19] == space
    else { return nil }
    let day = date[8] == space ? number(date[9..<10]) : number(date[8..<10])
    return civilTime(day, date[4..<7], number(date[20...]), date[11..<19])
}

private func civilTime(_ day: Int?, _ month: Bytes, _ year: Int?, _ clock: Bytes) -> CivilTime? {
    let times = clock.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    guard let day, let year, year >= 1_601, times.count == 3,
        times.allSatisfy({ $0.count == 2 }),
        let month = monthNames.firstIndex(where: { $0.utf8.elementsEqual(month) }),
        let hour = number(times[0]), let minute = number(times[1]), let second = number(times[2])
    else { return nil }
    let time = CivilTime(
        year: year,
        month: month + 1,
        day: day,
        hour: hour,
        minute: minute,
        second: second
    )
    return time.isValid ? time : nil
}

/// A moment of the wall clock: milliseconds since 1970-01-01T00:00:00Z.
///
/// Wall time labels rows and decides freshness. It never orders steps (``Revision`` does) and
/// never drives a timer.
package struct Timestamp: Hashable, Sendable, Comparable {
    package let milliseconds: Int64

    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    package static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.milliseconds < right.milliseconds
    }

    /// The moment `duration` later; it stops at the ends of the number's range.
    package func advanced(by duration: Duration) -> Timestamp {
        let (sum, overflow) = milliseconds.addingReportingOverflow(duration.milliseconds)
        guard overflow else { return Timestamp(milliseconds: sum) }
        return Timestamp(milliseconds: duration < .zero ? .min : .max)
    }

    /// How long after `earlier` this is; negative when it is before.
    package func since(_ earlier: Timestamp) -> Duration {
        let (difference, overflow) = milliseconds.subtractingReportingOverflow(
            earlier.milliseconds
        )
        return .milliseconds(overflow ? (self < earlier ? Int64.min : .max) : difference)
    }
}

extension Duration {
    /// Whole milliseconds, rounded towards zero, at the ends of the range where they do not fit.
    package var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        let (sum, over) = product.addingReportingOverflow(attoseconds / 1_000_000_000_000_000)
        return over ? (seconds < 0 ? .min : .max) : sum
    }
}

/// A moment as date and time of day in UTC, in the proleptic Gregorian calendar.
///
/// Source: Howard Hinnant, *chrono-Compatible Low-Level Date Algorithms*,
/// https://howardhinnant.github.io/date_algorithms.html (`days_from_civil`, `civil_from_days`).
struct CivilTime: Equatable {
    var year: Int
    /// 1 to 12.
    var month: Int
    /// 1 to 31.
    var day: Int
    var hour: Int
    var minute: Int
    var second: Int
    var millisecond = 0

    /// False for a day that its month does not have and a time that no day has; a second may be 60.
    var isValid: Bool {
        guard (1...12).contains(month), (1...Self.days(in: month, of: year)).contains(day) else {
            return false
        }
        return (0...23).contains(hour) && (0...59).contains(minute) && (0...60).contains(second)
            && (0...999).contains(millisecond)
    }

    private static func days(in month: Int, of year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days since 1970-01-01.
    var dayNumber: Int {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    /// 0 is Sunday.
    var weekday: Int { Int(Int64(dayNumber + 4).flooredDivision(by: 7).remainder) }

    var timestamp: Timestamp {
        let seconds = Int64(dayNumber) * 86_400 + Int64(hour * 3_600 + minute * 60 + second)
        return Timestamp(milliseconds: seconds * 1_000 + Int64(millisecond))
    }
}

extension CivilTime {
    init(_ moment: Timestamp) {
        let (days, rest) = moment.milliseconds.flooredDivision(by: 86_400_000)
        let shifted = Int(days) + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        hour = Int(rest / 3_600_000)
        minute = Int(rest / 60_000 % 60)
        second = Int(rest / 1_000 % 60)
        millisecond = Int(rest % 1_000)
    }
}

extension Int64 {
    fileprivate func flooredDivision(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
