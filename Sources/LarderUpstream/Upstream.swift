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

    /// The same request over a connection of its own, whose answer's body is not read; it says
    /// what the connection was like.
    func check(_ request: UpstreamRequest) async -> UpstreamCheck

    /// Ends every connection; requests under way fail. Nothing may be asked after it.
    func shutdown() async
}
