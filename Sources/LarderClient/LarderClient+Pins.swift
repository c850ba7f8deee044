import AsyncHTTPClient
import LarderModel
import LarderWire
import NIOHTTP1

extension LarderClient {
    /// Keeps an entry for good: it is never evicted, and outlives the loss of the cache.
    ///
    /// What is cached is kept at once, and each later answer takes its place. What is not cached is
    /// fetched now, or as soon as its origin is back.
    ///
    /// - Parameters:
    ///   - id: The URL of an origin's answer, or the id of bytes of the program's own.
    ///   - wait: How long to wait while the origin does not answer, an hour at most; nil: as long
    ///     as a request to it may take.
    /// - Returns: The pin that waits for its origin, and goes on waiting without anybody; nil if its
    ///   bytes are held.
    /// - Throws: ``LarderError/miss(_:)`` for an id that no origin can give and nothing is cached
    ///   under; ``LarderError/unavailable(_:)`` where there is no room, or what the origin refused
    ///   it with: in both cases the pin stays and says why.
    @discardableResult
    public func pin(
        _ id: String,
        waitingFor wait: Duration? = nil
    ) async throws(LarderError) -> PinItem? {
        var query = PinQuery()
        (query.wait, query.account) = (wait, try accountParameter())
        let path = PercentCoding.pinPath(try entryID(id))
        let response = try await connection.send(SocketRequest(.PUT, socketTarget(path, query)))
        let bytes = try await response.wholeBody(upTo: Limits.reportBytesMax)
        guard response.status == .accepted else { return nil }
        return try DaemonConnection.read(bytes)
    }

    /// Lets a pinned entry be an ordinary one again.
    ///
    /// - Throws: ``LarderError/miss(_:)`` where it was not pinned.
    public func unpin(_ id: String) async throws(LarderError) {
        let path = PercentCoding.pinPath(try entryID(id))
        let request = SocketRequest(.DELETE, socketTarget(path, try accountQuery()))
        _ = try await connection.report(request)
    }

    /// All pins of this user, in the order of their ids, asked for page by page.
    public func pins() -> Pages<PinItem> {
        Pages { cursor throws(LarderError) in
            let page = try await self.pins(limit: Limits.pageRowsMax, cursor: cursor)
            return (page.items, page.next)
        }
    }

    /// One page of the pins.
    ///
    /// - Parameters:
    ///   - limit: Pins in the page, 1 to 1,000.
    ///   - cursor: `next` of the page before.
    /// - Returns: The page.
    /// - Throws: The problem with what was asked for.
    public func pins(
        limit: Int,
        cursor: String? = nil
    ) async throws(LarderError) -> Page<PinItem> {
        var query = PinListQuery()
        (query.page.limit, query.page.cursor) = (limit, cursor)
        query.account = try accountParameter()
        return try await connection.send(SocketRequest(getting: "/v1/pins", query))
    }
}
