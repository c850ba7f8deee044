import LarderModel
import Testing

@Suite("Histograms")
struct HistogramTests {
    @Test("A histogram without values has no percentiles")
    func empty() {
        let histogram = Histogram()
        #expect(histogram.count == 0)
        #expect(histogram.max == 0)
        #expect(histogram.percentile(0.5) == nil)
    }

    @Test(
        "A single value is each of its percentiles, exactly",
        arguments: [0, 1, 15, 16, 17, 31, 32, 1_000_003, (1 << 42) - 1, 1 << 42, .max] as [Int64]
    )
    func single(value: Int64) {
        var histogram = Histogram()
        histogram.record(value)
        #expect(histogram.max == value)
        for fraction in [0, 0.5, 0.99, 1] {
            // Above the last bucket's end only the largest value is exact.
            let expected = min(value, value >= 1 << 42 ? (1 << 42) - 1 : .max)
            #expect(histogram.percentile(fraction) == expected)
        }
    }

    @Test("A percentile is not below the true one, and at most a sixteenth above it")
    func accuracy() throws {
        var histogram = Histogram()
        var values: [Int64] = []
        var value: Int64 = 7
        for _ in 0..<5_000 {
            // A fixed walk over many orders of magnitude.
            value = (value &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407)
            values.append((value >> 20) & ((1 << (10 + value & 15)) - 1))
        }
        for value in values { histogram.record(value) }
        values.sort()
        for fraction in [0.1, 0.5, 0.9, 0.99, 1] {
            let rank = Int((Double(values.count) * fraction).rounded(.up))
            let exact = values[rank - 1]
            let found = try #require(histogram.percentile(fraction))
            #expect(found >= exact, "\(fraction)")
            #expect(Double(found) <= Double(exact) * (1 + 1.0 / 16), "\(fraction)")
        }
    }

    @Test("Two that are added up say what one would have")
    func adding() {
        var (one, two, all) = (Histogram(), Histogram(), Histogram())
        for value in 0..<1_000 as Range<Int64> {
            if value % 3 == 0 { one.record(value * value) } else { two.record(value * value) }
            all.record(value * value)
        }
        one.add(two)
        #expect(one == all)
    }

    @Test("Durations count in nanoseconds, and nothing below 0 or beyond all measure breaks it")
    func durations() {
        var histogram = Histogram()
        histogram.record(.nanoseconds(9))
        #expect(histogram.percentile(1) == 9)
        histogram.record(.seconds(-5))
        #expect(histogram.percentile(0.5) == 0)
        histogram.record(Duration(secondsComponent: .max, attosecondsComponent: 0))
        #expect(histogram.count == 3)
        #expect(histogram.max > 1 << 42)
    }
}
