import LarderModel
import Testing

@Suite("Quota of something bounded")
struct QuotaTests {
    @Test("There is so much for one, and so much in all")
    func bounds() {
        var shares = Quota<Int>(max: 8, each: 5)
        #expect((0..<6).map { _ in shares.take(0) } == [true, true, true, true, true, false])
        #expect((0..<4).map { _ in shares.take(1) } == [true, true, true, false])
        shares.release(0)
        #expect([2, 0].map { shares.take($0) } == [true, false])
        #expect(shares.count == 8)
        #expect(shares.count(of: 0) == 4)
    }

    @Test("An amount is taken whole or not at all")
    func amounts() {
        var shares = Quota<Int>(each: 10)
        #expect([6, 5, 4].map { shares.take(0, $0) } == [true, false, true])
        #expect([10].map { shares.take(1, $0) } == [true])
        shares.release(0, 10)
        #expect(shares.count(of: 0) == 0)
        #expect(shares.count == 10)
    }
}
