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
    var millisecond: Int

    /// Nil for a day that its month does not have and a time that no day has; a second may be 60.
    init?(
        year: Int,
        month: Int,
        day: Int,
        hour: Int,
        minute: Int,
        second: Int,
        millisecond: Int = 0
    ) {
        guard (1...12).contains(month), (1...Self.days(in: month, of: year)).contains(day),
            (0...23).contains(hour), (0...59).contains(minute), (0...60).contains(second),
            (0...999).contains(millisecond)
        else { return nil }
        self.year = year
        self.month = month
        self.day = day
        self.hour = hour
        self.minute = minute
        self.second = second
        self.millisecond = millisecond
    }

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
    var weekday: Int {
        Int(Int64(dayNumber + 4).flooredDivision(by: 7).remainder)
    }

    var timestamp: Timestamp {
        let seconds = Int64(dayNumber) * 86_400 + Int64(hour * 3_600 + minute * 60 + second)
        return Timestamp(milliseconds: seconds * 1_000 + Int64(millisecond))
    }
}

extension Int64 {
    fileprivate func flooredDivision(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
