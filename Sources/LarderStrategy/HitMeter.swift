/// Hits and misses of the last hour, by minutes of a monotonic clock.
package struct HitMeter: Equatable, Sendable {
    private struct Minute: Equatable {
        var number: Int64 = -1
        var hits: Int64 = 0
        var misses: Int64 = 0
    }

    private var minutes = [Minute](repeating: Minute(), count: 61)
    /// Counted since the start.
    package private(set) var hits: Int64 = 0
    package private(set) var misses: Int64 = 0

    package init() {}

    /// Takes the counts since the start; their growth belongs to the minute of `now`.
    package mutating func advance(hits: Int64, misses: Int64, at now: Duration) {
        let number = now.components.seconds / 60
        let index = Int(number % 61)
        if minutes[index].number != number { minutes[index] = Minute(number: number) }
        minutes[index].hits += hits - self.hits
        minutes[index].misses += misses - self.misses
        self.hits = hits
        self.misses = misses
    }

    /// The share of hits among the reads of the last `span` minutes, this one included.
    ///
    /// Nil if there were no reads.
    package func rate(overMinutes span: Int64, at now: Duration) -> Double? {
        let number = now.components.seconds / 60
        let recent = minutes.filter { $0.number > number - span && $0.number <= number }
        let hits = recent.reduce(0) { $0 + $1.hits }
        let total = recent.reduce(hits) { $0 + $1.misses }
        return total == 0 ? nil : Double(hits) / Double(total)
    }
}
