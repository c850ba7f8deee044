package import LarderModel
package import LarderStore

/// What reads have shown, each kept with its stamp as ready answers are, and held against what a fresh
/// read shows for as long as its stamp counts.
package struct KeptReads<Key: Hashable, Shown: Equatable> {
    /// One read, and when it was made.
    private struct Kept {
        let shown: Shown
        let stamp: ReadVersion
        let now: Timestamp
    }

    private var kept: [Key: Kept] = [:]
    /// Those that are kept, from the one that was kept first.
    package private(set) var keys: [Key] = []
    package private(set) var counts = KeptCounts()

    package init() {}

    /// Keeps what was read under a key, in the place of what was kept under it before; nothing where
    /// its read has no stamp.
    package mutating func keep(
        _ key: Key,
        _ read: (shown: Shown, stamp: ReadVersion?),
        now: Timestamp
    ) {
        drop(key)
        guard let stamp = read.stamp else { return }
        kept[key] = Kept(shown: read.shown, stamp: stamp, now: now)
        keys.append(key)
    }

    /// Lets go of those that were kept first, until no more than `count` are kept.
    package mutating func shrink(to count: Int) {
        while keys.count > count { drop(keys[0]) }
    }

    /// Lets go of all, as with the process that made the stamps.
    package mutating func dropAll() {
        kept = [:]
        keys = []
    }

    /// Throws where the stamp of what is kept under a key counts, and a fresh read, as of when it was
    /// kept, shows something else; lets go of it where it counts no more.
    ///
    /// `counts` says whether a stamp does, and is asked first; `read` is nil where that failed, which
    /// says nothing.
    package mutating func check(
        _ key: Key,
        counts: (ReadVersion) -> Bool,
        read: (Timestamp) throws -> Shown?
    ) throws {
        guard let one = kept[key] else { return }
        guard counts(one.stamp) else {
            self.counts.void += 1
            return drop(key)
        }
        guard let fresh = try read(one.now) else { return }
        self.counts.held += 1
        if fresh != one.shown { throw StaleRead("\(key) is kept as \(one.shown), and is \(fresh)") }
    }

    private mutating func drop(_ key: Key) {
        guard kept.removeValue(forKey: key) != nil else { return }
        keys.removeAll { $0 == key }
    }
}

/// How often what was kept counted still, and how often it did no more.
package struct KeptCounts: Sendable {
    package var held = 0
    package var void = 0

    package init() {}

    package static func += (sum: inout KeptCounts, other: KeptCounts) {
        sum.held += other.held
        sum.void += other.void
    }
}

/// A stamp that counts, of a read that would show something else.
package struct StaleRead: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}
