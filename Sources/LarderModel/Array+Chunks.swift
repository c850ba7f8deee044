extension Array {
    /// The elements in order, in arrays of `count` and a last one of what remains.
    package func chunks(of count: Int) -> [[Element]] {
        stride(from: 0, to: self.count, by: count).map { start in
            Array(self[start..<Swift.min(start + count, self.count)])
        }
    }
}
