/// Bounds of connections to origins and of what comes over them.
extension Limits {
    /// Time for which an origin counts as captive for pages after a portal was seen.
    package static let captiveTime = Duration.seconds(600)
    /// Time for which a reused connection may say nothing before the request goes to a new one.
    ///
    /// It is a third of the request's time, and not more than this. So a dead connection costs no
    /// more, and an origin that is slower than this is asked twice at most.
    package static let reusedSilenceMax = Duration.seconds(3)
    /// Body up to which that is done: the kernel accepts this much immediately, so that silence is
    /// the origin's.
    package static let reusedBodyBytesMax = 16 * 1_024
    /// Idle time up to which a connection is reused for a request that must not be sent twice.
    package static let reusedIdleMax = Duration.milliseconds(500)
    /// TCP keepalive of connections to origins: a peer that is gone is found within half a minute.
    package static let keepaliveIdleSeconds = 15
    package static let keepaliveIntervalSeconds = 5
    package static let keepaliveProbesMax = 3
    /// Time after which bytes that the peer does not acknowledge end a connection.
    package static let unacknowledgedMilliseconds = 20_000
    /// Bytes that a coded body is decoded to at a time.
    package static let decodedPieceBytes = 64 * 1_024
    /// Bytes from which on a coded body may not expand more than ``decodedRatioMax`` times.
    package static let decodedFreeBytes = 64 * 1_024 * 1_024
    /// Real documents reach a tenth of it; gzip's highest is about 1,030.
    package static let decodedRatioMax = 200
}
