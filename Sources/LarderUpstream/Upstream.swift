/// What asks origins over HTTP: ``HTTPUpstream``, and a scripted one in tests.
package protocol Upstream: Sendable {
    /// One request: no redirect is followed, and the body is not yet read.
    ///
    /// Repeated is what the origin closed before it answered anything, once and after a pause
    /// (``Limits/closedConnectionsMax``), as long as it has not left or is a read: the connection
    /// was mostly one of the pool. Nobody else repeats what fails as ``UpstreamError/closed``.
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

extension Upstream {
    /// The same without a word on when the request leaves.
    package func ask(
        _ request: UpstreamRequest
    ) async throws(UpstreamError) -> UpstreamReply {
        try await ask(request, onSent: {})
    }
}
