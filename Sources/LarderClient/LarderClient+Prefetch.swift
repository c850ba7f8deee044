import LarderModel
import LarderWire
import NIOHTTP1

extension LarderClient {
    /// Has entries fetched in advance and pinned, as one set; a set of that name is replaced.
    ///
    /// The daemon looks up the sizes first, and refuses a set that is larger than what is free for
    /// pins. The daemon goes on fetching after the client has gone.
    ///
    /// - Parameters:
    ///   - name: 1 to 64 letters, digits, `.`, `_` and `-`.
    ///   - command: The entries, at most 10,000.
    ///   - dryRun: Whether only the sizes are looked up.
    ///   - wait: Longest wait until the set is no longer filling, at most an hour; nil: no wait.
    /// - Returns: The state of the set.
    /// - Throws: ``LarderError/unavailable(_:)`` if there is no room for the set;
    ///   `urn:larder:unknown-origin` for a URL of no origin.
    @discardableResult
    public func prefetch(
        _ name: String,
        _ command: PrefetchCommand,
        dryRun: Bool = false,
        waitingFor wait: Duration? = nil
    ) async throws(LarderError) -> PrefetchReport {
        var query = PrefetchQuery()
        (query.dryRun, query.wait) = (dryRun ? true : nil, wait)
        query.account = try accountParameter()
        let target = socketTarget(Self.prefetchPath(name), query)
        var request = SocketRequest(posting: command, to: target)
        request.method = .PUT
        return try await connection.send(request)
    }

    /// Tells what there is of a set, with each missing entry and its problem.
    ///
    /// - Throws: `urn:larder:no-such-set` if there is none of this name.
    public func prefetched(_ name: String) async throws(LarderError) -> PrefetchReport {
        try await connection.send(
            SocketRequest(getting: Self.prefetchPath(name), try accountQuery())
        )
    }

    /// Lists the sets of this user, in the order of their names, without their missing entries.
    public func prefetches() async throws(LarderError) -> [PrefetchReport] {
        let request = SocketRequest(getting: "/v1/prefetch", try accountQuery())
        return try await connection.send(request, answer: Page<PrefetchReport>.self).items
    }

    /// Removes a set; its entries become ordinary ones, unless something else keeps them.
    ///
    /// - Throws: `urn:larder:no-such-set` if there is none of this name.
    public func removePrefetch(_ name: String) async throws(LarderError) {
        let target = socketTarget(Self.prefetchPath(name), try accountQuery())
        _ = try await connection.report(SocketRequest(.DELETE, target))
    }

    private static func prefetchPath(_ name: String) -> String {
        "/v1/prefetch/\(PercentCoding.encode(name))"
    }
}
