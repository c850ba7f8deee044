/// Quota of a limited amount: in all, and for each key.
package struct Quota<Key: Hashable & Sendable>: Sendable {
    private let max: Int
    /// Limit of each key; a key that has taken more keeps it.
    package var eachMax: Int
    private var taken: [Key: Int] = [:]
    package private(set) var count = 0

    package init(max: Int = .max, each eachMax: Int = .max) {
        self.max = max
        self.eachMax = eachMax
    }

    package func count(of key: Key) -> Int { taken[key, default: 0] }

    package var keys: some Collection<Key> { taken.keys }

    /// Takes an amount; returns false if less is left.
    package mutating func take(_ key: Key, _ amount: Int = 1) -> Bool {
        guard count + amount <= max, count(of: key) + amount <= eachMax else { return false }
        taken[key] = count(of: key) + amount
        count += amount
        return true
    }

    package mutating func release(_ key: Key, _ amount: Int = 1) {
        let left = count(of: key) - amount
        assert(left >= 0, "no more is given back than was taken")
        taken[key] = left == 0 ? nil : left
        count -= amount
    }
}
