/// A moment of the wall clock: milliseconds since 1970-01-01T00:00:00Z.
///
/// Wall time labels rows and decides freshness. It never orders steps (``Revision`` does) and
/// never drives a timer.
package struct Timestamp: Hashable, Sendable, Comparable {
    package let milliseconds: Int64

    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    package static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.milliseconds < right.milliseconds
    }

    /// The moment `duration` later; it stops at the ends of the number's range.
    package func advanced(by duration: Duration) -> Timestamp {
        let (sum, overflow) = milliseconds.addingReportingOverflow(duration.milliseconds)
        guard overflow else { return Timestamp(milliseconds: sum) }
        return Timestamp(milliseconds: duration < .zero ? .min : .max)
    }

    /// How long after `earlier` this is; negative when it is before.
    package func since(_ earlier: Timestamp) -> Duration {
        let (difference, overflow) = milliseconds.subtractingReportingOverflow(
            earlier.milliseconds
        )
        return .milliseconds(overflow ? (self < earlier ? Int64.min : .max) : difference)
    }
}

extension Duration {
    /// Whole milliseconds, rounded towards zero, at the ends of the range where they do not fit.
    package var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        let (sum, over) = product.addingReportingOverflow(attoseconds / 1_000_000_000_000_000)
        return over ? (seconds < 0 ? .min : .max) : sum
    }
}
