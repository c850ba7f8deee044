/// What asks origins over HTTP: ``HTTPUpstream``, and a scripted one in tests.
package protocol Upstream: Sendable {
    /// One request: no redirect is followed, nothing is repeated, and the body is not yet read.
    ///
    /// It returns when the answer's head is there. Cancelling the calling task gives the request
    /// up with ``UpstreamError/cancelled``; a body that is dropped unread ends its connection.
    func ask(_ request: UpstreamRequest) async throws(UpstreamError) -> UpstreamReply

    /// Ends every connection; requests under way fail. Nothing may be asked after it.
    func shutdown() async
}
