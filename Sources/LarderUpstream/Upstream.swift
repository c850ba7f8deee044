/// What asks origins over HTTP: ``HTTPUpstream``, and a scripted one in tests.
package protocol Upstream: Sendable {
    /// One request: no redirect is followed, and the body is not yet read.
    ///
    /// The upstream repeats a request on a new connection, once, if the connection was closed, or
    /// was a reused one and stayed silent, before a byte of the answer came
    /// (``Limits/closedConnectionsMax``, ``Limits/reusedSilenceMax``). It repeats a request that
    /// may have left only if ``UpstreamRequest/isRepeatable``, or if it is a read. No caller repeats what fails as
    /// ``UpstreamError/closed``.
    ///
    /// A body in gzip or deflate is decoded, although neither was asked for.
    ///
    /// `onSent` is called when the request leaves, which may be long after the call: while no
    /// connection is free, it waits for one of our own. It returns when the answer's head is
    /// there. Cancelling the calling task gives the request
    /// up with ``UpstreamError/cancelled``; a body that is dropped unread ends its connection.
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
