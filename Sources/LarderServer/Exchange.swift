import LarderEngine
import LarderModel
import LarderStore
import LarderWire
import NIOCore
import NIOHTTP1

/// One request on its way through a route.
struct Exchange: Sendable {
    let head: HTTPRequestHead
    let peer: Peer
    let body: RequestBody
    let writer: ResponseWriter
    /// Ends when the client hangs up.
    let interest: Interest
    let server: ServerContext

    var engine: Engine { server.engine }

    /// The path, and the query behind the first `?`.
    var path: Substring { head.path }
    var query: Substring { head.query ?? "" }

    func scope(_ account: AccountName) -> ScopeKey {
        engine.store.key(for: peer.scope(account))
    }

    /// The scope of a route that takes no parameter but `account`.
    func scope() throws(Problem) -> ScopeKey {
        var parameters = try QueryParameters(query)
        let account = try parameters.takeAccount()
        try parameters.refuseRest()
        return scope(account)
    }

    /// What the client calls itself; nil where it does not.
    var client: ClientTag? {
        get throws(Problem) {
            guard let name = head.headers.first(name: "Larder-Client") else { return nil }
            guard let tag = ClientTag(uid: peer.uid, name: name) else {
                throw Problem(
                    .badRequest,
                    "Larder-Client: '\(name)' is no name",
                    hint: "Give 1 to \(Limits.clientNameBytesMax) visible ASCII characters."
                )
            }
            return tag
        }
    }

    /// The JSON of a command.
    func command() async throws(Problem) -> [UInt8] {
        try await wholeBody(upTo: Limits.commandBodyBytesMax)
    }

    /// Refuses a body by its announced length, before a byte of it is read.
    func refuseAnnounced(over limit: Int) throws(Problem) {
        guard let length = head.headers.first(name: "Content-Length").flatMap({ Int64($0) }),
            length > limit
        else { return }
        throw Problem(.bodyTooLarge, "the body has \(length) bytes, at most \(limit) are taken")
    }

    func wholeBody(upTo limit: Int) async throws(Problem) -> [UInt8] {
        let place = try enterUpload()
        defer { place?.leave() }
        let bytes: [UInt8]?
        do {
            bytes = try await body.collect(upTo: limit)
        } catch {
            throw Problem(.badRequest, "the body broke off")
        }
        guard let bytes else {
            throw Problem(.bodyTooLarge, "the body has more than \(limit) bytes")
        }
        return bytes
    }

    /// A problem as this client reads it: an administrator is not sent to one.
    func told(_ problem: Problem) -> Problem {
        guard let hint = problem.administratorHint, (try? isByAdministrator) == true else {
            return problem
        }
        var problem = problem
        problem.hint = hint
        return problem
    }

    /// Answers with JSON.
    func respond(
        _ json: [UInt8],
        _ headers: HTTPHeaders = HTTPHeaders(),
        status: HTTPResponseStatus = .ok
    ) async {
        var headers = headers
        headers.add(name: "Content-Type", value: "application/json")
        await writer.respond(status, headers, body: json)
    }

    func respond(_ problem: Problem, _ headers: HTTPHeaders = HTTPHeaders()) async {
        let problem = told(problem)
        await writer.respond(problem, requestID: server.nextRequestID(), headers)
    }
}
