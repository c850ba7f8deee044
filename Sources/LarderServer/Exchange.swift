import LarderAPI
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

    /// The header fields of the request.
    var fields: HeaderFields {
        HeaderFields(head.headers.map { HeaderFields.Field(name: $0.name, value: $0.value) })
    }

    /// What the request expects of the entry that it writes.
    var conditions: WriteConditions {
        let (match, noneMatch) = (head.headers["If-Match"], head.headers["If-None-Match"])
        return WriteConditions(ifMatch: match, ifNoneMatch: noneMatch)
    }

    /// A command, read from the JSON of the body.
    func command<Command: Sendable>(
        _ read: @escaping @Sendable ([UInt8]) throws(Problem) -> Command
    ) async throws(Problem) -> Command {
        let json = try await wholeBody(upTo: Limits.commandBodyBytesMax)
        return try await work(onBytes: json.count) { () throws(Problem) in try read(json) }
    }

    /// A command, read from the JSON of the body; `orNothing` takes an empty body for an object
    /// without members.
    func command<Command: Decodable & Sendable>(
        orNothing: Bool = false
    ) async throws(Problem) -> Command {
        try await command { json throws(Problem) in
            let json = orNothing && json.isEmpty ? Array("{}".utf8) : json
            do throws(APIDecodingError) {
                return try APIDecoder(.strict).decode(from: json)
            } catch {
                throw Problem(error)
            }
        }
    }

    /// Work on so many bytes: on the event loop where they are few, else where no other client of it
    /// has to wait.
    func work<Value: Sendable>(
        onBytes count: Int,
        _ work: @escaping @Sendable () throws(Problem) -> Value
    ) async throws(Problem) -> Value {
        let result: Result<Value, Problem>
        do throws(StoreError) {
            result = try await engine.store.work(onBytes: count) {
                Result { () throws(Problem) in try work() }
            }
        } catch {
            throw Problem(error)
        }
        return try result.get()
    }

    /// How long the body says that it is; nil for one that comes in chunks.
    var announcedLength: Int64? {
        head.headers.first(name: "Content-Length").flatMap { Int64($0) }
    }

    /// The next piece of the body; nil at its end.
    func nextPiece() async throws(Problem) -> ByteBuffer? {
        do {
            return try await body.next()
        } catch {
            throw Problem(.badRequest, "the body broke off")
        }
    }

    /// A problem as this client reads it: an administrator is not sent to one.
    func told(_ problem: Problem) -> Problem {
        guard let hint = problem.hintForAdministrator, (try? isByAdministrator) == true else {
            return problem
        }
        var problem = problem
        problem.hint = hint
        return problem
    }

    /// Answers with a value of the API; `byteCount` says about how long its JSON is where it may be
    /// long, and is then encoded off the event loop.
    func respond(
        with value: some Encodable & Sendable,
        byteCount: Int = 0,
        _ headers: HTTPHeaders = HTTPHeaders(),
        status: HTTPResponseStatus = .ok
    ) async throws(Problem) {
        let json = try await work(onBytes: byteCount) {
            APIEncoder().encode(value, byteCount: byteCount)
        }
        await respond(json, headers, status: status)
    }

    /// Answers with JSON.
    func respond(
        _ json: [UInt8],
        _ headers: HTTPHeaders = HTTPHeaders(),
        status: HTTPResponseStatus = .ok
    ) async {
        let memory: HeldBytes?
        do throws(Problem) {
            memory = try hold(json.count)
        } catch {
            return await respond(error)
        }
        var headers = headers
        headers.add(name: "Content-Type", value: "application/json")
        await writer.respond(status, headers, body: json)
        withExtendedLifetime(memory) {}
    }

    func respond(_ problem: Problem, _ headers: HTTPHeaders = HTTPHeaders()) async {
        let problem = told(problem)
        await writer.respond(problem, requestID: server.nextRequestID(), headers)
    }
}

extension Problem {
    init(_ error: APIDecodingError) {
        let kind: ProblemKind =
            switch error {
            case .unknownMember(_, in: _, known: _, .json): .unknownMember
            case .unknownMember(_, in: _, known: _, .query): .unknownParameter
            case _: .badRequest
            }
        self.init(kind, error.message)
    }
}
