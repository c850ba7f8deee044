import LarderModel
import Testing

@Suite("Moments as they travel")
struct TimestampRFC3339Tests {
    @Test("Every day of eight hundred years comes back")
    func everyDay() {
        let first: Int64 = -11_644_473_600  // 1601-01-01
        for day in 0..<Int64(800 * 365) {
            let seconds = first + day * 86_400 + day % 86_400
            let moment = Timestamp(milliseconds: seconds * 1_000 + day % 1_000)
            guard Timestamp(rfc3339: moment.rfc3339) == moment else {
                Issue.record("\(moment.rfc3339) does not come back")
                return
            }
        }
    }

    @Test("Milliseconds may be left out")
    func seconds() {
        #expect(Timestamp(rfc3339: "1970-01-01T00:00:01Z") == Timestamp(milliseconds: 1_000))
    }

    @Test(
        "Text that is not a moment is refused",
        arguments: [
            "", "Z", "1970-01-01", "1970-01-01T00:00:00", "1970-01-01 00:00:00Z",
            "1970-13-01T00:00:00Z", "1970-00-01T00:00:00Z", "1970-01-32T00:00:00Z",
            "1970-01-01T24:00:00Z", "1970-01-01T00:60:00Z", "1970-01-01T00:00:61Z",
            "1970-02-29T00:00:00Z", "1970-04-31T00:00:00Z", "1970-01-01T00:00:00+01:00",
            "197a-01-01T00:00:00Z", "1970-01-01T00:00:00.12aZ",
            "1970-01-01T00:00:00,120Z", "+970-01-01T00:00:00Z", "197é-01-01T00:00:00Z",
        ]
    )
    func refused(text: String) {
        #expect(Timestamp(rfc3339: text) == nil)
    }
}
