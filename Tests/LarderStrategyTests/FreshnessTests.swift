import LarderModel
import LarderStrategy
import Testing

@Suite("Freshness")
struct FreshnessTests {
    private let now = Timestamp.start

    private func freshness(
        _ fields: KeyValuePairs<String, String>,
        ttl: Duration? = nil,
        storesNoStore: Bool = false
    ) -> Freshness {
        var settings = FetchSettings()
        settings.ttl = ttl
        settings.storesNoStore = storesNoStore
        let headers = HeaderFields(fields.map { HeaderFields.Field(name: $0.key, value: $0.value) })
        return Freshness(headers, settings: settings, now: now)
    }

    /// The seconds of its lifetime that are left.
    private func seconds(_ fields: KeyValuePairs<String, String>, ttl: Duration? = nil) -> Int64? {
        freshness(fields, ttl: ttl).until.map { $0.since(now).components.seconds }
    }

    private func date(_ seconds: Int64) -> String {
        now.advanced(by: .seconds(seconds)).httpDate
    }

    @Test("An answer without a lifetime from the origin is stale immediately")
    func none() {
        #expect(seconds([:]) == nil)
        #expect(seconds(["Last-Modified": date(-86_400)]) == nil)
        #expect(seconds(["Cache-Control": "private, must-revalidate"]) == nil)
    }

    @Test(
        "max-age is its lifetime",
        arguments: [
            ("max-age=60", 60), ("MAX-AGE=60", 60), ("max-age=\"60\"", 60), ("max-age=0", 0),
            ("public,max-age=60,immutable", 60), (" max-age=60 ", 60), ("\tmax-age = 60", 60),
            ("max-age=60, max-age=5", 60), ("max-age=5, max-age=60", 5),
            ("x=\"a, max-age=5\", max-age=60", 60),
            ("x=\"\\\", max-age=5\", max-age=60", 60), ("max-age=007", 7),
            ("s-maxage=5, max-age=60", 60), (",,max-age=60,", 60), ("=, max-age=60", 60),
            ("max-age=2147483648", 2_147_483_648), ("max-age=2147483649", 2_147_483_648),
            ("max-age=99999999999999999999999", 2_147_483_648),
            // What cannot be read is stale (RFC 9111 4.2.1).
            ("max-age", 0), ("max-age=", 0), ("max-age=-1", 0), ("max-age=+1", 0),
            ("max-age=1.5", 0), ("max-age=1h", 0), ("max-age==5", 0), ("max-age=\"", 0),
            ("max-age=x, max-age=60", 0),
        ] as [(String, Int64)]
    )
    func maxAge(value: String, expected: Int64) {
        #expect(seconds(["Cache-Control": value]) == expected)
    }

    @Test(
        "An unknown directive has no effect",
        arguments: [
            "", "=", "=5", " = ", ",", "\"", "\"max-age=5\"", "x-max-age=5", "max-age\u{301}=5",
        ]
    )
    func unknown(value: String) {
        let freshness = freshness(["Cache-Control": value])
        #expect(freshness.until == nil)
        #expect(freshness.mayBeStored)
    }

    @Test("Several fields are one list")
    func fields() {
        #expect(seconds(["Cache-Control": "public", "cache-control": "max-age=60"]) == 60)
    }

    @Test("Expires counts from Date, or from now without one")
    func expires() {
        #expect(seconds(["Expires": date(100), "Date": date(-20)]) == 120)
        #expect(seconds(["Expires": date(100), "Date": date(20)]) == 80)
        // Dates have no milliseconds, now has 120 of them.
        #expect(seconds(["Expires": date(100)]) == 99)
        #expect(seconds(["Expires": date(100), "Date": "yesterday"]) == 99)
        #expect(seconds(["Expires": date(-100), "Date": date(-20)]) == 0)
    }

    @Test("max-age goes before Expires")
    func both() {
        #expect(seconds(["Expires": date(100), "Cache-Control": "max-age=60"]) == 60)
        #expect(seconds(["Expires": date(100), "Cache-Control": "max-age=x"]) == 0)
    }

    @Test("An Expires that cannot be read is past", arguments: ["0", "-1", "", "never"])
    func badExpires(value: String) {
        #expect(seconds(["Expires": value, "Date": date(0)]) == 0)
    }

    @Test(
        "Age is taken off",
        arguments: [("10", 50), ("60", 0), ("70", -10), (" 10\t", 50), ("10, 20", 50)]
    )
    func age(value: String, expected: Int64) {
        #expect(seconds(["Cache-Control": "max-age=60", "Age": value]) == expected)
    }

    @Test(
        "With an Age that cannot be read it is stale",
        arguments: ["-10", "x", "", "1.5", "+1", "x, 10", ", 10", "1 0s"]
    )
    func badAge(value: String) {
        #expect(seconds(["Cache-Control": "max-age=60", "Age": value]) == nil)
    }

    @Test("An Age that is too large is for ever")
    func hugeAge() {
        let fields: KeyValuePairs = ["Cache-Control": "max-age=60", "Age": "99999999999999999999"]
        #expect(seconds(fields) == 60 - 2_147_483_648)
    }

    @Test("no-cache makes an answer stale immediately, unless it names header fields")
    func noCache() {
        #expect(seconds(["Cache-Control": "no-cache, max-age=60"]) == nil)
        #expect(seconds(["Cache-Control": "No-Cache", "Expires": date(100)]) == nil)
        #expect(seconds(["Cache-Control": "no-cache=\"Set-Cookie\", max-age=60"]) == 60)
        #expect(freshness(["Cache-Control": "no-cache"]).mayBeStored)
    }

    @Test("no-store is not kept, unless the settings say so")
    func noStore() {
        for value in ["no-store", "NO-STORE", "max-age=60, no-store", "=,no-store"] {
            #expect(freshness(["Cache-Control": value]).mayBeStored == false)
            #expect(freshness(["Cache-Control": value], storesNoStore: true).mayBeStored)
        }
        #expect(freshness(["Cache-Control": "no-storage"]).mayBeStored)
        #expect(freshness(["Cache-Control": "x=\"no-store, no-store\""]).mayBeStored)
        let kept = freshness(["Cache-Control": "no-store, max-age=60"], storesNoStore: true)
        #expect(kept.until == now.advanced(by: .seconds(60)))
    }

    @Test(
        "Only a 200, a 203 and a 204, and a 201 to a POST, are kept without a lifetime",
        arguments: [200, 201, 202, 203, 204, 205, 226, 299]
    )
    func statuses(status: Int) {
        func isKept(
            _ fields: [HeaderFields.Field],
            ttl: Duration? = nil,
            method: ReadMethod = .get
        ) -> Bool {
            var settings = FetchSettings()
            settings.ttl = ttl
            return Freshness(
                HeaderFields(fields),
                status: status,
                method: method,
                settings: settings,
                now: now
            ).mayBeStored
        }
        #expect(isKept([]) == [200, 203, 204].contains(status))
        #expect(isKept([], method: .post) == [200, 201, 203, 204].contains(status))
        // The operator's lifetime makes no result of a 202 and of a 205.
        #expect(isKept([], ttl: .seconds(7)) == ![202, 205].contains(status))
        #expect(isKept([.init(name: "Cache-Control", value: "max-age=0")]))
        #expect(isKept([.init(name: "Expires", value: date(100))]))
        #expect(!isKept([.init(name: "Cache-Control", value: "max-age=9, no-store")]))
    }

    @Test("The ttl of the settings wins over everything but no-store")
    func ttl() {
        let ttl = Duration.seconds(7)
        #expect(seconds([:], ttl: ttl) == 7)
        #expect(seconds(["Cache-Control": "max-age=60", "Age": "5"], ttl: ttl) == 7)
        #expect(seconds(["Cache-Control": "no-cache"], ttl: ttl) == 7)
        #expect(seconds(["Expires": "0"], ttl: ttl) == 7)
        #expect(seconds(["Cache-Control": "max-age=60"], ttl: .zero) == 0)
        #expect(freshness(["Cache-Control": "no-store"], ttl: ttl).mayBeStored == false)
    }
}
