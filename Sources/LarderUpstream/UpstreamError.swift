/// Why an origin gave no answer, or not all of it.
package enum UpstreamError: Error, Equatable, Sendable {
    /// No request byte can have left: the name was not found, the connection not made in time, or
    /// TLS failed.
    case unreachable(host: String, reason: String)
    /// The connection was closed before anything of an answer came, and that of the repetition too.
    ///
    /// With `hasLeft` the request may have arrived.
    case closed(host: String, hasLeft: Bool)
    /// The host led, or leads, to an address that its origin does not allow; no request byte left.
    case addressRefused(host: String, address: String)
    /// The request's time was over, or the origin fell silent in the middle of its answer.
    case timedOut(UpstreamPhase)
    /// The connection was lost, or what came over it was no HTTP, after the request had left.
    case brokenOff(reason: String)
    /// The answer's head is above ``Limits/responseHeadBytesMax`` or ``Limits/headerFieldsMax``.
    case headTooLarge
    /// The daemon itself has no file descriptor, port, memory or free connection left for the
    /// request; no request byte left.
    case shortage(reason: String)
    /// The caller gave the request up, or the upstream was shut down.
    case cancelled
}

/// The part of an answer that a request waited for.
package enum UpstreamPhase: Equatable, Sendable {
    case head
    case body
}
