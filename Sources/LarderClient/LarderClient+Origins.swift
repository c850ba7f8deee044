import LarderModel
import LarderWire
import NIOHTTP1

extension LarderClient {
    /// The servers that the daemon may ask, in the order of their names.
    ///
    /// - Returns: Those of the configuration, those that were added, and the public hosts that
    ///   the user of a daemon of one's own asked lately.
    /// - Throws: Why there is no answer.
    public func origins() async throws(LarderError) -> [Origin] {
        let bytes = try await connection.report(
            SocketRequest(.GET, "/v1/origins", timeLimit: Limits.reportTime)
        )
        let reports = try LarderError.decoding { () throws(WireError) in
            try OriginReport.list(decoding: bytes)
        }
        return reports.map(Origin.init)
    }

    /// Adds an origin, which stays over the daemon's end; for administrators.
    ///
    /// - Parameters:
    ///   - definition: The origin.
    ///   - replacing: Whether one of the same name that was added before is replaced.
    /// - Returns: The origin as the daemon has it.
    /// - Throws: `urn:larder:origin-exists` where the name or the address is another's.
    @discardableResult
    public func addOrigin(
        _ definition: OriginDefinition,
        replacing: Bool = false
    ) async throws(LarderError) -> Origin {
        let command = try LarderError.checking(.badRequest) { () throws(ModelError) in
            try definition.command
        }
        var request = SocketRequest(
            posting: replacing ? command.settings : command.encodedJSON(),
            to: replacing ? originPath(command.name) : "/v1/origins",
            timeLimit: Limits.reportTime
        )
        if replacing { request.method = .PUT }
        return try await origin(request)
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
    ) async throws(LarderError) -> Origin {
        let path = originPath(try originName(name)) + (isOffline ? "/offline" : "/online")
        return try await origin(SocketRequest(.POST, path, timeLimit: Limits.reportTime))
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
    ) async throws(LarderError) -> OriginCheck {
        // The origin's own timeout is the daemon's to keep.
        let request = SocketRequest(
            posting: OriginCheckCommand(path: path).encodedJSON(),
            to: originPath(try originName(name)) + "/check"
        )
        let bytes = try await connection.report(request)
        return OriginCheck(
            report: try LarderError.decoding { () throws(WireError) in
                try OriginCheckReport(decoding: bytes)
            }
        )
    }

    private func origin(_ request: SocketRequest) async throws(LarderError) -> Origin {
        let bytes = try await connection.report(request)
        return Origin(
            report: try LarderError.decoding { () throws(WireError) in
                try OriginReport(decoding: bytes)
            }
        )
    }

    private func originPath(_ name: OriginName) -> String {
        "/v1/origins/\(PercentCoding.encode(name.text))"
    }
}
