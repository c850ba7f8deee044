public import LarderAPI
import LarderModel
import NIOHTTP1

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
        command.account = try accountParameter()
        var request = SocketRequest(
            posting: command,
            to: try credentialPath(origin),
            timeLimit: Limits.reportTime
        )
        request.method = .PUT
        return try await connection.send(request)
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
