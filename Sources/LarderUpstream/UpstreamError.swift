/// The reason why an origin gave no answer, or not all of it.
package enum UpstreamError: Error, Equatable, Sendable {
    /// No request byte can have left.
    ///
    /// The name was not found, the connection was not made in time, or TLS failed.
    case unreachable(host: String, reason: String)
    /// The connection was closed before a byte of an answer came, also when the request was
    /// repeated.
    ///
    /// With `hasLeft` the request may have arrived.
    case closed(host: String, hasLeft: Bool)
    /// The host has an address that its origin does not allow; no request byte left.
    case addressRefused(host: String, address: String)
    /// The request's time was over, or the origin fell silent during its answer.
    case timedOut(UpstreamPhase)
    /// After the request had left, the connection was lost, or its bytes were not HTTP.
    case brokenOff(reason: String)
    /// The answer's head is above ``Limits/responseHeadBytesMax`` or ``Limits/headerFieldsMax``.
    case headTooLarge
    /// The daemon had no file descriptor, port, memory or free connection for the request.
    ///
    /// No request byte left.
    case shortage(reason: String)
    /// The caller gave the request up, or the upstream was shut down.
    case cancelled
}

/// The part of an answer that a request waited for.
package enum UpstreamPhase: Equatable, Sendable {
    case head
    case body
}
