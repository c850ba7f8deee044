import LarderModel
import NIOHTTP1

extension LarderClient {
    /// The servers that the daemon may ask, in the order of their names.
    ///
    /// - Returns: Those of the configuration, those that were added, and the public hosts that
    ///   the user of a daemon of one's own asked lately.
    /// - Throws: Why there is no answer.
    public func origins() async throws(LarderError) -> [OriginReport] {
        let request = SocketRequest(.GET, "/v1/origins", timeLimit: Limits.reportTime)
        return try await connection.send(request, answer: Page<OriginReport>.self).items
    }

    /// Adds an origin, which stays over the daemon's end; for administrators.
    ///
    /// - Parameters:
    ///   - name: 1 to 64 letters, digits, `.`, `_` and `-`.
    ///   - definition: The keys of the origin.
    ///   - replacing: Whether one of the same name that was added before is replaced.
    /// - Returns: The origin as the daemon has it.
    /// - Throws: `urn:larder:origin-exists` where the address is another's, and
    ///   `urn:larder:precondition-failed` where there is one of the name.
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

    /// Takes away an origin that was added; what is cached of it stays.
    ///
    /// For administrators.
    ///
    /// - Parameter name: Its name.
    /// - Throws: `urn:larder:no-such-origin`, or `urn:larder:origin-in-file` for one that stands
    ///   in a file of the configuration.
    public func removeOrigin(_ name: String) async throws(LarderError) {
        let path = originPath(try originName(name))
        _ = try await connection.report(
            SocketRequest(.DELETE, path, timeLimit: Limits.reportTime)
        )
    }

    /// Sets an origin offline, so that nothing leaves for it, or online again; for administrators.
    ///
    /// It holds over the daemon's end, until it is taken back.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - isOffline: Which of the two.
    /// - Returns: The origin.
    /// - Throws: `urn:larder:no-such-origin` where there is none of this name.
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

    /// Has the daemon ask an origin now, whatever its state, and store nothing; for
    /// administrators.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - path: Where on its host, under its base URL; nil asks for that itself.
    /// - Returns: What came of it, also where the origin did not answer.
    /// - Throws: `urn:larder:no-such-origin`, or `urn:larder:offline` for one that was set offline.
    public func checkOrigin(
        _ name: String,
        path: String? = nil
    ) async throws(LarderError) -> OriginCheckReport {
        // The origin's own timeout is the daemon's to keep.
        let request = SocketRequest(
            posting: OriginCheckCommand(path: path),
            to: originPath(try originName(name)) + "/check"
        )
        return try await connection.send(request)
    }

    private func originPath(_ name: OriginName) -> String {
        "/v1/origins/\(PercentCoding.encode(name.text))"
    }
}
