extension Int64 {
    /// The number, or the end of the range that it lies beyond.
    package func clamped(to range: ClosedRange<Int64>) -> Int64 {
        Swift.min(Swift.max(self, range.lowerBound), range.upperBound)
    }
}
