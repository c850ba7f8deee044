import LarderStrategy
import Testing

@Suite("The meter of hits")
struct HitMeterTests {
    private func minute(_ number: Int64) -> Duration { .seconds(number * 60) }

    @Test("Without reads there is no rate")
    func empty() {
        var meter = HitMeter()
        #expect(meter.rate(overMinutes: 60, at: .zero) == nil)
        meter.advance(hits: 0, misses: 0, at: .zero)
        #expect(meter.rate(overMinutes: 60, at: .zero) == nil)
    }

    @Test("A rate is hits of all reads; counts are since the start")
    func rate() {
        var meter = HitMeter()
        meter.advance(hits: 3, misses: 1, at: minute(0))
        #expect(meter.rate(overMinutes: 1, at: minute(0)) == 0.75)
        meter.advance(hits: 3, misses: 3, at: minute(0))
        #expect(meter.rate(overMinutes: 1, at: minute(0)) == 0.5)
        #expect(meter.hits == 3)
        #expect(meter.misses == 3)
    }

    @Test("A window is this minute and those before it")
    func windows() {
        var meter = HitMeter()
        meter.advance(hits: 1, misses: 0, at: minute(10))
        meter.advance(hits: 1, misses: 1, at: minute(14))
        meter.advance(hits: 1, misses: 3, at: minute(15) + .seconds(59))
        #expect(meter.rate(overMinutes: 1, at: minute(15)) == 0)
        #expect(meter.rate(overMinutes: 5, at: minute(15)) == 0)
        #expect(meter.rate(overMinutes: 6, at: minute(15)) == 0.25)
        #expect(meter.rate(overMinutes: 60, at: minute(69)) == 0.25)
        #expect(meter.rate(overMinutes: 60, at: minute(70)) == 0)
        #expect(meter.rate(overMinutes: 60, at: minute(75)) == nil)
    }

    @Test("After an hour its places are used again, each for its own minute")
    func wrap() {
        var meter = HitMeter()
        for number in Int64(0)..<300 {
            // Hits in even minutes, misses in odd ones.
            meter.advance(hits: number / 2 + 1, misses: (number + 1) / 2, at: minute(number))
            let rate = meter.rate(overMinutes: 1, at: minute(number))
            #expect(rate == (number % 2 == 0 ? 1 : 0))
            if number >= 59 { #expect(meter.rate(overMinutes: 60, at: minute(number)) == 0.5) }
        }
        #expect(meter.hits == 150)
        #expect(meter.misses == 150)
    }

    @Test(
        "A jump of more than an hour forgets what was before",
        arguments: [60, 61, 62, 122, 9_999]
    )
    func jump(minutes: Int64) {
        var meter = HitMeter()
        for number in Int64(0)..<61 {
            meter.advance(hits: number + 1, misses: 0, at: minute(number))
        }
        let later = minute(60 + minutes)
        #expect(meter.rate(overMinutes: 60, at: later) == nil)
        meter.advance(hits: 61, misses: 2, at: later)
        #expect(meter.rate(overMinutes: 60, at: later) == 0)
    }
}
