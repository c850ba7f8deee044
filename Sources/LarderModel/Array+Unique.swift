extension Array where Element: Hashable {
    /// Each element once, in the order of their first appearance.
    package var unique: [Element] {
        guard count > 1 else { return self }
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
