import LarderModel
import LarderStrategy
import Testing

@Suite("A request's cache rules on the raw routes")
struct RawRulesTests {
    @Test(
        "Each policy under each directive",
        arguments: [
            (FetchPolicy.cacheThenNetwork, "", FetchPolicy.networkFirst),
            (.cacheFirst, "", .cacheFirst),
            (.networkFirst, "", .networkFirst),
            (.staleWhileRevalidate, "", .staleWhileRevalidate),
            (.cacheOnly, "", .cacheOnly),
            (.networkOnly, "", .networkOnly),
            (.cacheThenNetwork, "only-if-cached", .cacheOnly),
            (.networkOnly, "only-if-cached", .cacheOnly),
            (.cacheThenNetwork, "no-cache", .networkOnly),
            (.cacheOnly, "no-cache", .networkOnly),
            (.cacheThenNetwork, "max-stale", .cacheFirst),
            (.networkFirst, "max-stale=5", .cacheFirst),
            (.networkOnly, "max-stale", .cacheFirst),
            (.staleWhileRevalidate, "max-stale", .staleWhileRevalidate),
            (.cacheOnly, "max-stale", .cacheOnly),
            (.staleWhileRevalidate, "max-age=0", .cacheFirst),
            (.staleWhileRevalidate, "min-fresh=9", .cacheFirst),
            (.networkFirst, "max-age=0", .networkFirst),
            (.cacheFirst, "max-age=0", .cacheFirst),
            (.cacheThenNetwork, "ONLY-IF-CACHED , no-transform", .cacheOnly),
            (.cacheThenNetwork, "private=\"no-cache\", foo=no-cache", .networkFirst),
        ]
    )
    func policies(policy: FetchPolicy, control: String, expected: FetchPolicy) {
        #expect(RawRules(policy, control: control).policy == expected)
    }

    struct Case: Sendable {
        let control: String
        let age: Duration
        let freshFor: Duration?
        let grade: RawRules.Grade

        init(_ control: String, age: Int, freshFor: Int?, _ grade: RawRules.Grade) {
            self.control = control
            self.age = .seconds(age)
            self.freshFor = freshFor.map { .seconds($0) }
            self.grade = grade
        }
    }

    @Test(
        "A request's limits decide whether a cached answer is fresh, stale or refused",
        arguments: [
            Case("", age: 5, freshFor: 10, .fresh),
            Case("", age: 5, freshFor: 0, .stale),
            Case("", age: 5, freshFor: -10, .stale),
            Case("", age: 5, freshFor: nil, .stale),
            // max-stale makes as good as fresh, and its number is a limit.
            Case("max-stale", age: 900, freshFor: -800, .fresh),
            Case("max-stale", age: 900, freshFor: nil, .fresh),
            Case("max-stale=10", age: 5, freshFor: -10, .fresh),
            Case("max-stale=10", age: 5, freshFor: -11, .refused),
            Case("max-stale=10", age: 10, freshFor: nil, .fresh),
            Case("max-stale=10", age: 11, freshFor: nil, .refused),
            Case("max-stale=10", age: 99, freshFor: 1, .fresh),
            Case("max-stale=x", age: 5, freshFor: -1, .refused),
            Case("max-stale=-1", age: 5, freshFor: -1, .refused),
            Case("max-stale=1, max-stale=100", age: 5, freshFor: -50, .refused),
            Case("max-stale=\"10\"", age: 5, freshFor: -10, .fresh),
            Case("max-stale=99999999999999999999", age: 5, freshFor: -10, .fresh),
            // max-age and min-fresh are wishes.
            Case("max-age=5", age: 5, freshFor: 10, .fresh),
            Case("max-age=5", age: 6, freshFor: 10, .stale),
            Case("max-age", age: 1, freshFor: 10, .stale),
            Case("min-fresh=10", age: 5, freshFor: 10, .fresh),
            Case("min-fresh=11", age: 5, freshFor: 10, .stale),
            Case("max-age=5, max-stale", age: 6, freshFor: -1, .stale),
            // Only the cache: what is stale is given, and wishes are limits.
            Case("only-if-cached", age: 5, freshFor: nil, .fresh),
            Case("only-if-cached", age: 5, freshFor: -100, .fresh),
            Case("only-if-cached, max-age=4", age: 5, freshFor: 10, .refused),
            Case("only-if-cached, min-fresh=1", age: 5, freshFor: nil, .refused),
            Case("only-if-cached, max-stale=9", age: 5, freshFor: -10, .refused),
            Case("only-if-cached, no-cache", age: 0, freshFor: 10, .refused),
        ]
    )
    func grades(row: Case) {
        let rules = RawRules(.networkFirst, control: row.control)
        let grade = rules.grade(age: row.age, freshFor: row.freshFor, mustRevalidate: false)
        #expect(grade == row.grade, "\(row)")
    }

    @Test("max-stale tolerates no answer that the origin wants to be revalidated")
    func mustRevalidate() {
        func grade(_ control: String, freshFor: Int) -> RawRules.Grade {
            let rules = RawRules(.networkFirst, control: control)
            let freshFor = Duration.seconds(freshFor)
            return rules.grade(age: .seconds(5), freshFor: freshFor, mustRevalidate: true)
        }
        #expect(grade("max-stale", freshFor: 1) == .fresh)
        #expect(grade("max-stale", freshFor: -1) == .stale)
        #expect(grade("max-stale=10", freshFor: -10) == .stale)
        #expect(grade("max-stale=10", freshFor: -11) == .refused)
        #expect(grade("only-if-cached", freshFor: -1) == .fresh)
    }

    @Test("no-store asks that nothing is kept, and what wants the network is told apart")
    func keeping() {
        #expect(RawRules(.networkFirst, control: "").isKept)
        #expect(!RawRules(.networkFirst, control: "max-age=3, no-store").isKept)
        #expect(!RawRules(.networkFirst, control: "no-store").asksNetwork)
        for control in ["no-cache", "max-age=3", "min-fresh=3"] {
            #expect(RawRules(.networkFirst, control: control).asksNetwork)
        }
    }

    @Test(
        "A client that takes nothing but server-sent events gets a stream that is not kept",
        arguments: [
            ("text/event-stream", true), ("Text/Event-Stream;q=0.9", true),
            ("text/event-stream, application/json", false), ("application/json", false),
            ("", false),
        ]
    )
    func eventStream(accept: String, isStream: Bool) {
        let rules = RawRules(.networkFirst, control: "", accept: accept)
        #expect(rules.isEventStream == isStream)
        #expect(rules.isKept == !isStream)
    }
}
