import LarderModel
import Testing

@Suite("Moments and dates")
struct TimestampTests {
    private let now = Timestamp(milliseconds: 1_795_200_207_120)

    @Test(
        "The three forms of an HTTP date mean the same moment",
        arguments: [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ]
    )
    func threeForms(text: String) {
        let moment = Timestamp(httpDate: text, now: now)
        #expect(moment == Timestamp(milliseconds: 784_111_777_000))
        #expect(moment?.httpDate == "Sun, 06 Nov 1994 08:49:37 GMT")
    }

    @Test("Space around a date belongs to its header field")
    func padded() {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        for text in [" \(date)", "\(date) \t", "\t\(date)"] {
            #expect(Timestamp(httpDate: text, now: now)?.httpDate == date)
        }
        let tenth = Timestamp(httpDate: "Thu Nov 10 08:49:37 1994", now: now)
        #expect(tenth?.httpDate == "Thu, 10 Nov 1994 08:49:37 GMT")
    }

    @Test("The 29th of February is a day of leap years, and a minute may have 61 seconds")
    func leaps() {
        for year in ["1996", "2000", "2024"] {
            let text = "Sun, 29 Feb \(year) 00:00:00 GMT"
            #expect(Timestamp(httpDate: text, now: now)?.rfc3339.hasPrefix("\(year)-02-29") == true)
        }
        #expect(
            Timestamp(httpDate: "Sat, 31 Dec 2016 23:59:60 GMT", now: now)
                == Timestamp(httpDate: "Sun, 01 Jan 2017 00:00:00 GMT", now: now)
        )
    }

    @Test("A moment is written as RFC 3339 and as an HTTP date")
    func written() {
        #expect(now.rfc3339 == "2026-11-20T18:43:27.120Z")
        #expect(now.httpDate == "Fri, 20 Nov 2026 18:43:27 GMT")
        #expect(Timestamp(milliseconds: 0).rfc3339 == "1970-01-01T00:00:00.000Z")
        #expect(Timestamp(milliseconds: 0).httpDate == "Thu, 01 Jan 1970 00:00:00 GMT")
        #expect(Timestamp(milliseconds: -1).rfc3339 == "1969-12-31T23:59:59.999Z")
        #expect(Timestamp(milliseconds: 951_782_400_000).rfc3339 == "2000-02-29T00:00:00.000Z")
    }

    @Test("Every day of eight hundred years comes back from its HTTP date")
    func everyDay() {
        let first: Int64 = -11_644_473_600  // 1601-01-01
        var previous = ""
        for day in 0..<Int64(800 * 365) {
            let moment = Timestamp(milliseconds: (first + day * 86_400 + day % 86_400) * 1_000)
            let text = moment.httpDate
            guard Timestamp(httpDate: text, now: now) == moment, text != previous else {
                Issue.record("\(text) does not come back")
                return
            }
            previous = text
        }
    }

    @Test("A year of two digits lies at most 50 years ahead")
    func shortYears() {
        func year(_ digits: String) -> String? {
            Timestamp(httpDate: "Sunday, 06-Nov-\(digits) 08:49:37 GMT", now: now)
                .map { String($0.rfc3339.prefix(4)) }
        }
        #expect(year("26") == "2026")
        #expect(year("76") == "2076")
        #expect(year("77") == "1977")
        #expect(year("99") == "1999")
        #expect(year("00") == "2000")
    }

    @Test(
        "Text that is not an HTTP date is refused",
        arguments: [
            "", "0", "-1", "now", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET",
            "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
            "Sun, 06 Nov 1994 08:49 GMT", "Sun, 32 Nov 1994 08:49:37 GMT",
            "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT",
            "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT",
            "Sun, 06 Nov 19940 08:49:37 GMT", "1994-11-06T08:49:37Z",
            "Sunday, 06-Nov-1994 08:49:37 GMT", "Sun Nov 6 08:49:37 0994",
            "Sun, 30 Feb 1994 08:49:37 GMT", "Sun, 29 Feb 1994 08:49:37 GMT",
            "Sun, 29 Feb 1900 08:49:37 GMT", "Sun, 31 Apr 1994 08:49:37 GMT",
            "Sun, +6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov +994 08:49:37 GMT",
            "Sun, 06 Nov 1994 +8:49:37 GMT", "Sun, 06 Nov 1994 08:49:37:x GMT",
            "Sun, 06 Nov 1994 08::49:37 GMT", "Sunday, 06-Nov-+4 08:49:37 GMT",
            "Sunday, 06-Nov-4 08:49:37 GMT", "Sunday, 30-Feb-94 08:49:37 GMT",
            "Sun,06 Nov 1994 08:49:37 GMT", "Sun, 06  Nov 1994 08:49:37 GMT",
            "Sun 06 Nov 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT",
            "Xyz, 06 Nov 1994 08:49:37 GMT", "Sunday, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 1994 08:49:7 GMT",
            "Sun, 06, Nov, 1994, 08:49:37, GMT", "Sun, 06 Nov 1994 08:49:37 gmt",
            "Sun, 06 Nov 1994 08:49:37 GMT+1", "x Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday 06-Nov-94 08:49:37 GMT", "Sunday, 6-Nov-94 08:49:37 GMT",
            "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37",
            "Sun, Nov  6 08:49:37 1994", "Sun Nov 6 08:49:37 1994", "Sun Nov 06  08:49:37 1994",
            "Sun Nov  6 08:49:37 1994 GMT", "Sun Nov  6 08:49:37 94",
            "Sun Feb 30 08:49:37 1994", "Sun, 06 Nov 1994 08:49:37 GMT\u{301}",
        ]
    )
    func refused(text: String) {
        #expect(Timestamp(httpDate: text, now: now) == nil)
    }

    @Test("Sums and differences stop at the ends of the range")
    func saturating() {
        let last = Timestamp(milliseconds: .max)
        #expect(last.advanced(by: .seconds(1)) == last)
        #expect(Timestamp(milliseconds: .min).advanced(by: .seconds(-1)).milliseconds == .min)
        #expect(now.advanced(by: .seconds(2)).since(now) == .seconds(2))
        #expect(now.since(now.advanced(by: .seconds(2))) == .seconds(-2))
        #expect(last.since(Timestamp(milliseconds: -1)) == .milliseconds(Int64.max))
        #expect(Timestamp(milliseconds: -2).since(last) == .milliseconds(Int64.min))
        #expect(Duration.seconds(Int64.max).milliseconds == .max)
        #expect(Duration.seconds(Int64.min).milliseconds == .min)
        #expect(Duration.microseconds(1_999).milliseconds == 1)
    }
}
