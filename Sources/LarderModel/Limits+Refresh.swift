/// Bounds of polls: requests for rows that a follower or a pin has refreshed.
extension Limits {
    /// The longest interval of `refresh`: a row that is asked less often needs no poller.
    package static let refreshTimeMax = Duration.seconds(30 * 86_400)
    /// `fetch.min_refresh`: an origin is asked for one row at most once a second.
    package static let minRefreshTimes = Duration.seconds(1)...refreshTimeMax
    /// Rows of one user that are polled, about 1 KiB of memory each; as many as a user's followers.
    package static let polledRowsPerUserMax = followersPerUserMax
    /// Polls in flight to one origin at the same time.
    package static let pollsPerOriginMax = 2
    /// Polls of one user in flight at the same time, at any origins: slow origins of one user take
    /// few of the flights of all users.
    package static let pollsPerUserMax = 16
    /// Requests of a user in flight to an origin from which on no poll of theirs leaves: the
    /// connections that are left are for clients.
    package static let requestsBesidePollsMax = upstreamConnectionsPerHostMax - pollsPerOriginMax
    /// All flights from which on no poll leaves: the other half is for clients.
    package static let flightsBesidePollsMax = flightsMax / 2
    /// The part of an interval by which a poll may be later, so that many devices do not poll an
    /// origin at the same moment.
    package static let refreshJitter = 0.1
    /// The longest wait after errors, for an interval that is not longer itself.
    package static let refreshRetryMax = Duration.seconds(3_600)
    /// The longest time over which the polls after an outage or a suspend are spread.
    package static let refreshSpreadMax = Duration.seconds(60)
    /// Time between two looks at the clocks while rows are polled: a suspend is noticed within it.
    package static let suspendLookTime = Duration.seconds(10)
    /// The least difference of the two clocks that counts as a suspend; a clock that is set slowly
    /// makes smaller ones.
    package static let suspendTimeMin = Duration.seconds(2)
}
