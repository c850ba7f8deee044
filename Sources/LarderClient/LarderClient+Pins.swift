import AsyncHTTPClient
import LarderModel
import LarderWire
import NIOHTTP1

extension LarderClient {
    /// Pins an entry: the daemon never evicts it, and it survives the loss of the cache.
    ///
    /// A cached entry is pinned immediately, and each later answer replaces its bytes. The daemon
    /// fetches an entry that is not cached now, or as soon as its origin is back.
    ///
    /// - Parameters:
    ///   - id: The URL of an origin's answer, or the id of bytes of the program's own.
    ///   - wait: Longest wait while the origin does not answer, at most an hour; nil: as long
    ///     as a request to it may take.
    /// - Returns: Nil if the pin has its bytes; else the pin, which waits for its origin also after
    ///   the client has gone.
    /// - Throws: ``LarderError/miss(_:)`` for an id without an origin and without a cached entry;
    ///   ``LarderError/unavailable(_:)`` if there is no room; the error of the origin's refusal. In
    ///   the last two cases the pin stays and has the reason.
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

    /// Removes a pin; the entry stays cached and can be evicted.
    ///
    /// - Throws: ``LarderError/miss(_:)`` if the entry was not pinned.
    public func unpin(_ id: String) async throws(LarderError) {
        let path = PercentCoding.pinPath(try entryID(id))
        let request = SocketRequest(.DELETE, socketTarget(path, try accountQuery()))
        _ = try await connection.report(request)
    }

    /// Lists all pins of this user in the order of their ids, page by page.
    public func pins() -> Pages<PinItem> {
        Pages { cursor throws(LarderError) in
            let page = try await self.pins(limit: Limits.pageRowsMax, cursor: cursor)
            return (page.items, page.next)
        }
    }

    /// Lists one page of the pins.
    ///
    /// - Parameters:
    ///   - limit: Pins in the page, 1 to 1,000.
    ///   - cursor: `next` of the page before.
    /// - Returns: The page.
    /// - Throws: The problem, such as `urn:larder:bad-request`.
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
