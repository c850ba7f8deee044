/// A client that asks origins over HTTP: ``HTTPUpstream``, or a scripted one in tests.
package protocol Upstream: Sendable {
    /// Asks an origin once, follows no redirect, and returns when the answer's head is there.
    ///
    /// The upstream repeats a request once on a new connection, if no byte of the answer came and
    /// one of these holds:
    /// - the connection was closed (``Limits/closedConnectionsMax``);
    /// - the connection was a reused one and stayed silent (``Limits/reusedSilenceMax``).
    ///
    /// It repeats a request that may have left only if ``UpstreamRequest/isRepeatable``, or if it
    /// is a read. No caller repeats a request that fails with ``UpstreamError/closed``.
    ///
    /// A body in gzip or deflate is decoded, although the request asks for neither.
    ///
    /// `onSent` is called when the request leaves. This may be long after the call, as the request
    /// waits for a free connection of Larder's own.
    ///
    /// If the calling task is cancelled, the request fails with ``UpstreamError/cancelled``. A body
    /// that is dropped unread ends its connection.
    func ask(
        _ request: UpstreamRequest,
        onSent: @escaping @Sendable () -> Void
    ) async throws(UpstreamError) -> UpstreamReply

    /// Sends the request over a new connection, and reports on that connection.
    ///
    /// The body of the answer is not read.
    func check(_ request: UpstreamRequest) async -> UpstreamCheck

    /// Ends every connection; requests under way fail. No request may follow.
    func shutdown() async
}
