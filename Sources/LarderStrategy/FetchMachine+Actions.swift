package import LarderModel

extension FetchMachine {
    /// What is asked, when a fetch starts.
    package enum StartAction: Equatable, Sendable {
        case askCache
        /// `wait`: tell ``networkWaitElapsed()`` after it.
        case askBoth(wait: Duration?)
    }

    /// What the cache has.
    package enum CacheAnswer: Equatable, Sendable {
        case hit(Revision)
        case miss
        /// What is cached is that the origin has deleted it.
        case tombstone
    }

    /// What the cache's answer leads to.
    package enum CacheAction: Equatable, Sendable {
        case nothing
        case show
        /// The snapshot, then `end` with outcome `cache`.
        case showAndEnd
        /// The snapshot, an error frame, then `end` with outcome `error`.
        case showAndFail(Failure)
        case refuse(Failure)
        case refuseAsMiss
        case refuseAsDeleted
    }

    /// What the origin has, or why it is not known.
    package enum NetworkAnswer: Equatable, Sendable {
        /// What the origin has now; the revision is the shown one when the bytes are.
        case current(Revision)
        case deleted
        case failed(Failure)
    }

    /// What the network's answer leads to.
    package enum NetworkAction: Equatable, Sendable {
        case nothing
        /// The snapshot, then `end` with outcome `network`.
        case showAndEnd
        case unchangedAndEnd
        case deletedAndEnd
        /// An error frame, then `end` with outcome `error`.
        case failAndEnd(Failure)
        /// The cached snapshot that was held back, then as `failAndEnd`.
        case showCachedAndFail(Failure)
        case refuse(Failure)
        case refuseAsDeleted
    }

    /// What the end of ``FetchPolicy/networkFirst``'s wait leads to.
    package enum WaitAction: Equatable, Sendable {
        case nothing
        case showCached
    }

    /// What the end of the client's time leads to.
    package enum DeadlineAction: Equatable, Sendable {
        case nothing
        case failAndEnd(Failure)
        case showCachedAndFail(Failure)
        case refuse(Failure)
    }

    /// What the daemon's end leads to.
    package enum DrainAction: Equatable, Sendable {
        case nothing
        /// `end` with outcome `cache`: the network is not waited for.
        case end
        case showCachedAndEnd
        case refuse
    }
}
