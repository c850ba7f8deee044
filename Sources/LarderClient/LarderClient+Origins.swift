import LarderModel
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
