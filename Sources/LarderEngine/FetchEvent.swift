/// What happens to a ``FetchSession``: its answers, its timers, its client's end, the daemon's.
enum FetchEvent: Sendable {
    /// Nil where they cannot be read, or are gone.
    case cacheRead([UInt8]?)
    case told(FlightOutcome)
    case networkWaitElapsed
    case deadlineElapsed
    case rowChanged
    case originReturned
    case originChanged
    case heartbeatDue
    case hungUp
    case drainBegan
}
