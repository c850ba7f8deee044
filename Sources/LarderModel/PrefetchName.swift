/// The name that a user gives to a set of entries: 1 to 64 letters, digits, `.`, `_` and `-`.
package struct PrefetchName: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let text: String

    package var description: String { text }

    package init(_ text: String) throws(ModelError) {
        guard let name = try? OriginName(text) else { throw .badPrefetchName(text) }
        self.text = name.text
    }

    package static func < (left: PrefetchName, right: PrefetchName) -> Bool {
        left.text < right.text
    }
}

/// Bounds of sets of entries that are fetched in advance.
extension Limits {
    package static let prefetchItemsMax = 10_000
    /// The JSON body of a set: 400 bytes for each of its entries.
    package static let prefetchCommandBytesMax = 4_194_304
    package static let prefetchSetsPerUserMax = 100
    /// Entries of all sets of one user; one that is in several sets counts in each.
    package static let prefetchItemsPerUserMax = 20_000
    /// JSON of all sets of one user in `state.db`, which counts in no other budget: twice what
    /// ``prefetchItemsPerUserMax`` entries of 400 bytes take.
    package static let prefetchListBytesPerUserMax: Int64 = 16 << 20
    /// Entities that a query selects without a `limit`.
    package static let prefetchEntities = 100
    /// Time after which a set expires.
    package static let prefetchTimes = Duration.seconds(60)...Duration.seconds(366 * 86_400)
    /// HEAD requests for the sizes of one set that are under way at the same time.
    package static let prefetchHeadsMax = 4
    package static let prefetchHeadTime = Duration.seconds(5)
    /// Time for the sizes of one set together; the rest of them are estimated.
    package static let prefetchSizingTime = Duration.seconds(60)
    /// Length of a body that is taken from a HEAD, so that the sum of a set never overflows.
    package static let prefetchSizeBytesMax: Int64 = 1 << 40
    /// The least time between two looks at the state of the sets, each of which reads their items.
    package static let prefetchLookTime = Duration.milliseconds(500)
    /// The longest time between two looks: entries of a set may have been evicted by their ids.
    package static let prefetchRestTime = Duration.seconds(60)
    /// Waiting pins of one user and origin up to which they are asked for one after the other.
    ///
    /// Up to as many waiting pins of all, each fetch has the rest looked up.
    package static let pinsLookedUpAtOnce = 16
    /// Pins of one user and origin that are asked for until the next look at all of them.
    package static let pinsAskedInTurnMax = 64
    /// Failures in a row after which no more pins of one user are asked for at the origin.
    package static let pinFailuresInRowMax = 8
    /// Pins of a longer list that are fetched at the same time from one origin for one user.
    package static let pinsFetchedAtOnce = 4
    /// Rows that one step pins or unpins for sets, so that other commands go between.
    package static let prefetchStepRowsMax = 50
}
