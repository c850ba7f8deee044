extension Timestamp {
    /// RFC 3339 in UTC with milliseconds: `2026-11-20T18:43:27.120Z`.
    package var rfc3339: String {
        let time = CivilTime(self)
        let date = "\(digits(time.year, 4))-\(digits(time.month, 2))-\(digits(time.day, 2))"
        let clock = "\(digits(time.hour, 2)):\(digits(time.minute, 2)):\(digits(time.second, 2))"
        return "\(date)T\(clock).\(digits(time.millisecond, 3))Z"
    }

    /// An IMF-fixdate (RFC 9110 5.6.7): `Fri, 20 Nov 2026 18:43:27 GMT`.
    package var httpDate: String {
        let time = CivilTime(self)
        let date = "\(digits(time.day, 2)) \(monthNames[time.month - 1]) \(digits(time.year, 4))"
        let clock = "\(digits(time.hour, 2)):\(digits(time.minute, 2)):\(digits(time.second, 2))"
        return "\(dayNames[time.weekday]), \(date) \(clock) GMT"
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
            let millisecond = bytes.count == 24 ? number(bytes[20..<23]) : 0,
            let time = CivilTime(
                year: year,
                month: month,
                day: day,
                hour: hour,
                minute: minute,
                second: second,
                millisecond: millisecond
            )
        else { return nil }
        self = time.timestamp
    }

    /// Reads the three forms of RFC 9110 5.6.7: IMF-fixdate, RFC 850 and asctime; nil for others.
    ///
    /// A year of two digits that would lie more than 50 years after `now` is in the past century.
    package init?(httpDate text: String, now: Timestamp) {
        let words = text.utf8.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: ",") }
        let parsed: CivilTime? =
            switch words.count {
            case 6 where words[5].elementsEqual("GMT".utf8):
                civilTime(words[1], words[2], year: number(words[3]), words[4])
            case 4 where words[3].elementsEqual("GMT".utf8):
                rfc850(words[1], words[2], now)
            case 5:
                civilTime(words[2], words[1], year: number(words[4]), words[3])
            default: nil
            }
        guard let parsed else { return nil }
        self = parsed.timestamp
    }
}

private let dayNames = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
private let monthNames = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
]

private func digits(_ number: Int, _ width: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
}

private typealias Word = Substring.UTF8View

/// What digits and nothing else stand for, up to a year's four of them.
private func number(_ digits: some Collection<UInt8>) -> Int? {
    guard (1...4).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }) else {
        return nil
    }
    return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
}

private func rfc850(_ date: Word, _ clock: Word, _ now: Timestamp) -> CivilTime? {
    let parts = date.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    guard parts.count == 3, parts[2].count == 2, let short = number(parts[2]) else { return nil }
    let thisYear = CivilTime(now).year
    let year = thisYear - thisYear % 100 + short
    return civilTime(parts[0], parts[1], year: year > thisYear + 50 ? year - 100 : year, clock)
}

private func civilTime(_ day: Word, _ month: Word, year: Int?, _ clock: Word) -> CivilTime? {
    let times = clock.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    guard let year, year >= 1_601, let day = number(day), times.count == 3,
        let month = monthNames.firstIndex(where: { $0.utf8.elementsEqual(month) }),
        let hour = number(times[0]), let minute = number(times[1]), let second = number(times[2])
    else { return nil }
    return CivilTime(
        year: year,
        month: month + 1,
        day: day,
        hour: hour,
        minute: minute,
        second: second
    )
}
