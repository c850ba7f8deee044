/// How often values of each size occurred, in a fixed number of buckets.
///
/// The buckets are log-linear: values below 16 have one each, and every power of two above is cut
/// into 16. So a percentile is never too small, and too large by a sixteenth at most.
///
/// Values above 2^42 count into the last bucket; in nanoseconds that is more than an hour.
package struct Histogram: Equatable, Sendable {
    private static let subBits = 4
    private static let subBuckets = 1 << subBits
    /// The largest value that has a bucket of its own.
    private static let valueMax: Int64 = (1 << 42) - 1
    private static let bucketCount = index(of: valueMax) + 1

    private var buckets = [Int64](repeating: 0, count: bucketCount)
    package private(set) var count: Int64 = 0
    /// The largest value, exactly; 0 when there was none.
    package private(set) var max: Int64 = 0

    package init() {}

    /// Counts a value; one below 0 counts as 0.
    package mutating func record(_ value: Int64) {
        let value = Swift.max(0, value)
        buckets[Self.index(of: min(value, Self.valueMax))] += 1
        count += 1
        max = Swift.max(max, value)
    }

    package mutating func add(_ other: Histogram) {
        for index in buckets.indices { buckets[index] += other.buckets[index] }
        count += other.count
        max = Swift.max(max, other.max)
    }

    /// The value that `fraction` of all values, 0 to 1, do not exceed; nil when there were none.
    package func percentile(_ fraction: Double) -> Int64? {
        guard count > 0 else { return nil }
        let rank = Swift.max(1, Int64((Double(count) * fraction).rounded(.up)))
        var seen: Int64 = 0
        for (index, occurrences) in buckets.enumerated() {
            seen += occurrences
            if seen >= rank { return min(Self.largest(in: index), max) }
        }
        return max
    }

    private static func index(of value: Int64) -> Int {
        guard value >= subBuckets else { return Int(value) }
        let shift = 63 - value.leadingZeroBitCount - subBits
        return (shift + 1) * subBuckets + Int(value >> shift) % subBuckets
    }

    private static func largest(in index: Int) -> Int64 {
        guard index >= subBuckets else { return Int64(index) }
        let shift = index / subBuckets - 1
        return Int64(subBuckets + index % subBuckets + 1) << shift - 1
    }
}

extension Histogram {
    /// Counts a duration in nanoseconds.
    package mutating func record(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        // Above an hour, values are all the same here.
        record(min(seconds, 1 << 20) * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
