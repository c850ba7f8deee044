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
    /// - Returns: Whether it is held, or waits for its origin; it goes on waiting without anybody.
    /// - Throws: ``LarderError/miss(_:)`` for an id that no origin can give and nothing is cached
    ///   under; ``LarderError/unavailable(_:)`` where there is no room, or what the origin refused
    ///   it with: in both cases the pin stays and says why.
    @discardableResult
    public func pin(
        _ id: String,
        waitingFor wait: Duration? = nil
    ) async throws(LarderError) -> PinOutcome {
        let parameters: KeyValuePairs = [
            "wait": wait?.unitText, "account": try accountParameter(),
        ]
        let path = PercentCoding.pinPath(try entryID(id))
        let response = try await connection.send(SocketRequest(.PUT, target(path, parameters)))
        let bytes = try await response.wholeBody(upTo: Limits.reportBytesMax)
        guard response.status == .accepted else { return .held }
        let item = try LarderError.decoding { () throws(WireError) in
            try PinItem(decoding: bytes)
        }
        return .waiting(Pin(item: item))
    }

    /// Lets a pinned entry be an ordinary one again.
    ///
    /// - Throws: ``LarderError/miss(_:)`` where it was not pinned.
    public func unpin(_ id: String) async throws(LarderError) {
        let path = PercentCoding.pinPath(try entryID(id))
        let request = SocketRequest(.DELETE, target(path, ["account": try accountParameter()]))
        _ = try await connection.report(request)
    }

    /// All pins of this user, in the order of their ids, asked for page by page.
    public func pins() -> Pages<Pin> {
        Pages { cursor throws(LarderError) in
            let page = try await self.pins(limit: Limits.pageRowsMax, cursor: cursor)
            return (page.items, page.next)
        }
    }

    /// One page of the pins.
    ///
    /// - Parameters:
    ///   - limit: Pins in the page, 1 to 1,000.
    ///   - cursor: ``Pins/next`` of the page before.
    /// - Returns: The page.
    /// - Throws: The problem with what was asked for.
    public func pins(limit: Int, cursor: String? = nil) async throws(LarderError) -> Pins {
        var command = PinListCommand()
        command.limit = limit
        command.cursor = cursor
        command.account = try accountName()
        let query = command.query.isEmpty ? "" : "?\(command.query)"
        let bytes = try await connection.report(
            SocketRequest(.GET, "/v1/pins\(query)", timeLimit: Limits.reportTime)
        )
        let page = try LarderError.decoding { () throws(WireError) in
            try PinPage(decoding: bytes)
        }
        return Pins(items: page.items.map(Pin.init), next: page.next)
    }
}
