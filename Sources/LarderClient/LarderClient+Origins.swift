import AsyncHTTPClient
import LarderModel
import LarderWire
import NIOHTTP1

extension LarderClient {
    /// Lists the origins of the daemon, in the order of their names.
    ///
    /// - Returns: The origins of the configuration and the added origins. A user's own daemon also
    ///   lists the public hosts that the user asked recently.
    /// - Throws: The reason why there is no answer.
    public func origins() async throws(LarderError) -> [OriginReport] {
        let request = SocketRequest(.GET, "/v1/origins", timeLimit: Limits.reportTime)
        return try await connection.send(request, answer: Page<OriginReport>.self).items
    }

    /// Adds an origin, which stays across restarts of the daemon; for administrators.
    ///
    /// - Parameters:
    ///   - name: 1 to 64 letters, digits, `.`, `_` and `-`.
    ///   - definition: The keys of the origin.
    ///   - replacing: Whether the call replaces an added origin of the same name.
    /// - Returns: The origin as the daemon has it.
    /// - Throws: `urn:larder:origin-exists` if another origin has the address, and
    ///   `urn:larder:precondition-failed` if an origin of this name exists and `replacing` is
    ///   false.
    @discardableResult
    public func addOrigin(
        _ name: String,
        _ definition: OriginDefinition,
        replacing: Bool = false
    ) async throws(LarderError) -> OriginReport {
        var request = SocketRequest(
            posting: definition,
            to: originPath(try originName(name)),
            timeLimit: Limits.reportTime
        )
        request.method = .PUT
        if !replacing { request.headers.add(name: "If-None-Match", value: "*") }
        return try await connection.send(request)
    }

    /// Removes an added origin and keeps its cached entries; for administrators.
    ///
    /// - Parameter name: Name of the origin.
    /// - Throws: `urn:larder:no-such-origin`, or `urn:larder:origin-in-file` for an origin of a
    ///   configuration file.
    public func removeOrigin(_ name: String) async throws(LarderError) {
        let path = originPath(try originName(name))
        _ = try await connection.report(
            SocketRequest(.DELETE, path, timeLimit: Limits.reportTime)
        )
    }

    /// Sets an origin offline, so that the daemon sends it nothing, or online; for administrators.
    ///
    /// The setting stays across restarts of the daemon.
    ///
    /// - Parameters:
    ///   - name: Name of the origin.
    ///   - isOffline: Whether the origin is set offline.
    /// - Returns: The origin.
    /// - Throws: `urn:larder:no-such-origin` if there is no origin of this name.
    @discardableResult
    public func setOrigin(
        _ name: String,
        offline isOffline: Bool
    ) async throws(LarderError) -> OriginReport {
        var request = SocketRequest(
            posting: OriginChange(offline: isOffline),
            to: originPath(try originName(name)),
            timeLimit: Limits.reportTime
        )
        request.method = .PATCH
        return try await connection.send(request)
    }

    /// Makes the daemon send a request to an origin, without storing the answer; for
    /// administrators.
    ///
    /// The daemon also asks an origin whose state is unreachable.
    ///
    /// - Parameters:
    ///   - name: Name of the origin.
    ///   - path: Path under the base URL of the origin; nil: the base URL.
    /// - Returns: The result, also if the origin did not answer.
    /// - Throws: `urn:larder:no-such-origin`, or `urn:larder:offline` for an origin that was set
    ///   offline.
    public func checkOrigin(
        _ name: String,
        path: String? = nil
    ) async throws(LarderError) -> OriginCheckReport {
        // No time limit: the daemon applies the origin's timeout.
        let request = SocketRequest(
            posting: OriginCheckCommand(path: path),
            to: originPath(try originName(name)) + "/check"
        )
        return try await connection.send(request)
    }

    func originPath(_ name: OriginName) -> String {
        "/v1/origins/\(PercentCoding.encode(name.text))"
    }
}

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
    ///   - refresh: Interval at which the daemon asks the origin again, also without a client; nil
    ///     keeps what the pin has.
    /// - Returns: Nil if the pin has its bytes; else the pin, which waits for its origin also after
    ///   the client has gone.
    /// - Throws: ``LarderError/miss(_:)`` for an id without an origin and without a cached entry;
    ///   ``LarderError/unavailable(_:)`` if there is no room; the error of the origin's refusal. In
    ///   the last two cases the pin stays and has the reason.
    @discardableResult
    public func pin(
        _ id: String,
        waitingFor wait: Duration? = nil,
        refresh: Duration? = nil
    ) async throws(LarderError) -> PinItem? {
        var query = PinQuery()
        (query.wait, query.refresh) = (wait, refresh)
        query.account = try accountParameter()
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
            try await self.pins(limit: Limits.pageRowsMax, cursor: cursor)
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
