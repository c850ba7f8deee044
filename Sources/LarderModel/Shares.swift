/// How much of something bounded is taken: in all, and by each who takes of it.
package struct Shares<Key: Hashable & Sendable>: Sendable {
    private let max: Int
    /// Who has taken more keeps it.
    package var eachMax: Int
    private var taken: [Key: Int] = [:]
    /// What all have taken.
    package private(set) var count = 0

    package init(max: Int = .max, each eachMax: Int = .max) {
        self.max = max
        self.eachMax = eachMax
    }

    /// What one has taken.
    package func count(of key: Key) -> Int { taken[key, default: 0] }

    /// The keys for which something is taken.
    package var keys: some Collection<Key> { taken.keys }

    /// Whether there is as much left for one.
    private func hasRoom(for key: Key, _ amount: Int = 1) -> Bool {
        count + amount <= max && count(of: key) + amount <= eachMax
    }

    /// Takes it; false where there is not as much left.
    package mutating func take(_ key: Key, _ amount: Int = 1) -> Bool {
        guard hasRoom(for: key, amount) else { return false }
        taken[key] = count(of: key) + amount
        count += amount
        return true
    }

    /// Gives back what was taken.
    package mutating func giveBack(_ key: Key, _ amount: Int = 1) {
        let left = count(of: key) - amount
        assert(left >= 0, "no more is given back than was taken")
        taken[key] = left == 0 ? nil : left
        count -= amount
    }
}
