package import LarderModel

/// The last line of a stream: how it went.
package struct EndFrame: Equatable, Sendable {
    package var outcome: FetchOutcome
    package var revision: Revision?
    /// How long the cache and the network took, if they were asked; tenths of a millisecond travel.
    package var cacheTime: Duration?
    package var networkTime: Duration?

    package init(
        outcome: FetchOutcome,
        revision: Revision? = nil,
        cacheTime: Duration? = nil,
        networkTime: Duration? = nil
    ) {
        self.outcome = outcome
        self.revision = revision
        self.cacheTime = cacheTime
        self.networkTime = networkTime
    }
}

/// What the last word on a fetch was.
package enum FetchOutcome: String, Sendable {
    case network
    case unchanged
    case deleted
    /// The network was not asked, or not waited for.
    case cache
    /// The network failed after the cached answer.
    case error
    /// The daemon ends; there may be more to say.
    case shutdown
}
