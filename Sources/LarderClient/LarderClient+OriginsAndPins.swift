import AsyncHTTPClient
public import LarderAPI
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
            .PUT,
            sending: definition,
            to: originPath(try originName(name)),
            timeLimit: Limits.reportTime
        )
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
        let request = SocketRequest(
            .PATCH,
            sending: OriginChange(offline: isOffline),
            to: originPath(try originName(name)),
            timeLimit: Limits.reportTime
        )
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
            sending: OriginCheckCommand(path: path),
            to: originPath(try originName(name)) + "/check"
        )
        return try await connection.send(request)
    }

    func originPath(_ name: OriginName) -> String {
        "/v1/origins/\(PercentCoding.encode(name.text))"
    }
}

extension LarderClient {
    /// Sets the credential with which the daemon asks an origin for this client's account.
    ///
    /// From then on the account reads answers of its own there, and writes that waited for a
    /// credential are sent, one first. The daemon keeps the value and sends it to the origin only.
    ///
    /// - Parameters:
    ///   - value: The whole value of the header field, such as `Bearer TOKEN`.
    ///   - header: The name of the header field.
    ///   - origin: Name of the origin.
    ///   - expires: Time until which the origin is likely to take it; nil if unknown.
    /// - Returns: The credential without its value.
    /// - Throws: `urn:larder:no-such-origin`, or `urn:larder:bad-request` for a value that no header
    ///   field can have.
    @discardableResult
    public func setCredential(
        _ value: String,
        as header: String = "Authorization",
        at origin: String,
        expires: LarderAPI.Timestamp? = nil
    ) async throws(LarderError) -> CredentialReport {
        var command = CredentialCommand(value: value)
        (command.header, command.expires) = (header, expires)
        return try await set(command, at: origin)
    }

    private func set(
        _ given: CredentialCommand,
        at origin: String
    ) async throws(LarderError) -> CredentialReport {
        var command = given
        command.account = try accountParameter()
        let request = SocketRequest(
            .PUT,
            sending: command,
            to: try credentialPath(origin),
            timeLimit: Limits.reportTime
        )
        return try await connection.send(request)
    }

    /// Renews the credential of this client's account at an origin each time it is needed.
    ///
    ///     try await larder.provideCredential(at: "api") { reason in
    ///         let token = try await session.refresh()
    ///         var credential = CredentialCommand(value: "Bearer \(token.text)")
    ///         credential.expires = token.expires
    ///         return credential
    ///     }
    ///
    /// The daemon asks when the origin has refused the credential or asks for one, and 60 s before
    /// ``CredentialCommand/expires``. Of all programs of the user's account it asks one at a time,
    /// so that two of them never use the same refresh token. The closure has 30 s. After that, and
    /// if it throws or its credential is invalid, the daemon asks the next program.
    ///
    /// The call goes on over restarts of the daemon. Cancel its task to end it.
    ///
    /// - Parameters:
    ///   - origin: Name of the origin.
    ///   - renew: Gets a new credential from the server. Account and lease of its result are not used.
    /// - Throws: `urn:larder:no-such-origin` if there is no origin of this name, or the error after
    ///   which no other try makes sense.
    public func provideCredential(
        at origin: String,
        renew: (RenewalReason) async throws -> CredentialCommand
    ) async throws(LarderError) {
        var plan = FollowPlan()
        while true {
            do throws(LarderError) {
                try await renewOnce(at: origin, renew)
                plan.streamSpoke()
            } catch {
                let step = plan.streamFailed(error, randomUnit: time.randomUnit())
                guard case .tryAgain(let pause, _) = step else { throw error }
                try await time.wait(pause)
            }
        }
    }

    private func renewOnce(
        at origin: String,
        _ renew: (RenewalReason) async throws -> CredentialCommand
    ) async throws(LarderError) {
        var query = RenewalQuery()
        query.account = try accountParameter()
        let target = socketTarget(try credentialPath(origin) + "/renewal", query)
        var reader = try await FrameReader<RenewalOrder>(SocketRequest(.POST, target), of: self)
        let order = try await reader.next().frame
        guard var command = try? await renew(order.reason) else {
            // The connection closes with the reader, and the lease ends with it.
            guard !Task.isCancelled else { throw .cancelled }
            return
        }
        command.lease = order.lease
        do throws(LarderError) {
            _ = try await set(command, at: origin)
        } catch .tooLate {
            // Another program was asked meanwhile, or the user has logged in.
        } catch .invalid {
            // The lease ends, as after a closure that throws; the next credential may be valid.
            return
        }
        await reader.drain()
    }

    /// Removes the credential of this client's account at an origin.
    ///
    /// Writes that were accepted under it wait for another one.
    ///
    /// - Parameter origin: Name of the origin.
    /// - Returns: The state after that; ``CredentialReport/waiting`` counts the writes that are left.
    /// - Throws: `urn:larder:no-such-origin` if there is no origin of this name.
    @discardableResult
    public func removeCredential(
        at origin: String
    ) async throws(LarderError) -> CredentialReport {
        try await connection.send(try credentialRequest(.DELETE, origin))
    }

    /// Tells which credential the daemon has for this client's account at an origin.
    ///
    /// - Parameter origin: Name of the origin.
    /// - Returns: The credential without its value.
    /// - Throws: `urn:larder:no-such-origin` if there is no origin of this name.
    public func credential(at origin: String) async throws(LarderError) -> CredentialReport {
        try await connection.send(try credentialRequest(.GET, origin))
    }

    private func credentialRequest(
        _ method: HTTPMethod,
        _ origin: String
    ) throws(LarderError) -> SocketRequest {
        let target = socketTarget(try credentialPath(origin), try accountQuery())
        return SocketRequest(method, target, timeLimit: Limits.reportTime)
    }

    private func credentialPath(_ origin: String) throws(LarderError) -> String {
        originPath(try originName(origin)) + "/credential"
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
        return try await connection.send(SocketRequest(.PUT, sending: command, to: target))
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
