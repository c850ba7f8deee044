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
        return try await set(command, at: origin)
    }

    private func set(
        _ given: CredentialCommand,
        at origin: String
    ) async throws(LarderError) -> CredentialReport {
        var command = given
        command.account = try accountParameter()
        var request = SocketRequest(
            posting: command,
            to: try credentialPath(origin),
            timeLimit: Limits.reportTime
        )
        request.method = .PUT
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
