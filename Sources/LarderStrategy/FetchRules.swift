package import LarderModel

/// The meaning of a policy, as data for ``FetchMachine``.
package struct FetchRules: Equatable, Sendable {
    package enum Network: Equatable, Sendable {
        case never
        case atOnce
        /// If the cache has no answer that is enough.
        case ifNeeded
    }

    /// When the client gets a cached answer that is not enough.
    package enum Cache: Equatable, Sendable {
        case never
        case atOnce
        /// If the network fails, or has not answered within `network_wait`.
        case ifNetworkIsSlow
    }

    /// The cached answers after which the client gets no other.
    package enum SufficientHit: Equatable, Sendable {
        case none
        case fresh
        case any
    }

    package let network: Network
    package let cache: Cache
    package let sufficient: SufficientHit
}

extension FetchRules {
    package init(_ policy: FetchPolicy) {
        self =
            switch policy {
            case .cacheThenNetwork: Self(network: .atOnce, cache: .atOnce, sufficient: .none)
            case .cacheFirst: Self(network: .ifNeeded, cache: .ifNetworkIsSlow, sufficient: .fresh)
            case .networkFirst: Self(network: .atOnce, cache: .ifNetworkIsSlow, sufficient: .none)
            case .staleWhileRevalidate: Self(network: .atOnce, cache: .atOnce, sufficient: .any)
            case .cacheOnly: Self(network: .never, cache: .atOnce, sufficient: .any)
            case .networkOnly: Self(network: .atOnce, cache: .never, sufficient: .none)
            }
    }
}

extension FetchMachine {
    /// The step after the last message about what the client asked for.
    package enum AfterFinalFrame: Equatable, Sendable {
        /// The `end` frame.
        case end
        /// Keep the stream open; ``rowWasRead(_:)`` tells of changes.
        case follow
    }

    package enum StartAction: Equatable, Sendable {
        case askCache
        case askNetwork
        /// After `wait`, call ``networkWaitElapsed()``.
        case askBoth(wait: Duration?)
    }

    package enum CacheAnswer: Equatable, Sendable {
        case hit(Revision, isFresh: Bool)
        case miss
        /// The cache holds a tombstone; the client gets it if the network cannot say.
        case tombstone(Revision)
        /// A write that waits to be sent deletes the entry, whatever the network says.
        case deletion(Revision)
    }

    package enum CacheAction: Equatable, Sendable {
        case nothing
        case show
        /// After `wait`, call ``networkWaitElapsed()``.
        case askNetwork(wait: Duration?)
        case showAndAskNetwork
        /// The snapshot is the last message, with outcome `cache`.
        case showAnd(AfterFinalFrame)
        /// The snapshot, then an error frame, with outcome `error`.
        case showAndFail(Failure, AfterFinalFrame)
        case refuse(Failure)
        case refuseAsMiss
    }

    /// The value that the origin has, or why Larder does not know it.
    package enum NetworkAnswer: Equatable, Sendable {
        /// The origin's present value; the revision is the shown one when the bytes are the same.
        case current(Revision)
        case deleted(Revision)
        /// A write that waits to be sent deletes the entry, whatever the origin has.
        case deletion(Revision)
        case failed(Failure)
    }

    package enum NetworkAction: Equatable, Sendable {
        case nothing
        /// The snapshot is the last message, with outcome `network`.
        case showAnd(AfterFinalFrame)
        case unchangedAnd(AfterFinalFrame)
        case deletedAnd(AfterFinalFrame)
        /// An error frame, with outcome `error`.
        case fail(Failure, AfterFinalFrame)
        /// The cached snapshot that was held back, then the error frame of `fail`.
        case showCachedAndFail(Failure, AfterFinalFrame)
        case refuse(Failure)
        case refuseAsDeleted
    }

    package enum WaitAction: Equatable, Sendable {
        case nothing
        case showCached
    }

    package enum DeadlineAction: Equatable, Sendable {
        case nothing
        case fail(Failure, AfterFinalFrame)
        case showCachedAndFail(Failure, AfterFinalFrame)
        case refuse(Failure)
    }

    package enum FollowedRow: Equatable, Sendable {
        /// `isAsTold`: the last message was a snapshot with the same bytes.
        case entry(Revision, isAsTold: Bool)
        case tombstone(Revision)
        /// Evicted or forgotten, which says nothing about the value at the origin.
        case missing
    }

    package enum FollowAction: Equatable, Sendable {
        case nothing
        case show
        case tellDeleted
    }

    package enum DrainAction: Equatable, Sendable {
        case nothing
        /// The `end` frame, with outcome `shutdown`.
        case end
        case showCachedAndEnd
        case refuse
    }
}
