import LarderEngine
import LarderModel
import LarderStore
import LarderWire
import NIOCore
import NIOHTTP1

/// A request while a route handles it.
struct Exchange: Sendable {
    let head: HTTPRequestHead
    let peer: Peer
    let body: RequestBody
    let writer: ResponseWriter
    /// Ends when the client hangs up.
    let cancellation: ClientCancellation
    let server: ServerContext

    var engine: Engine { server.engine }

    var path: Substring { head.path }
    var query: Substring { head.query ?? "" }

    func scope(_ account: AccountName) -> ScopeKey {
        engine.store.key(for: peer.scope(account))
    }

    /// The client's name from the field `Larder-Client`; nil without that field.
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

    var fields: HeaderFields {
        HeaderFields(head.headers.map { .init(name: $0.name, value: $0.value.withoutBlanks) })
    }

    /// Preconditions of a write, from `If-Match` and `If-None-Match`.
    var conditions: WriteConditions {
        let (match, noneMatch) = (head.headers["If-Match"], head.headers["If-None-Match"])
        return WriteConditions(ifMatch: match, ifNoneMatch: noneMatch)
    }

    func command<Command: Sendable>(
        upTo bytesMax: Int = Limits.commandBodyBytesMax,
        _ read: @escaping @Sendable ([UInt8]) throws(Problem) -> Command
    ) async throws(Problem) -> Command {
        let json = try await wholeBody(upTo: bytesMax)
        return try await work(onBytes: json.count) { () throws(Problem) in try read(json) }
    }

    /// A command, read from the JSON of the body; `orNothing` takes an empty body for an object
    /// without members.
    func command<Command: Decodable & Sendable>(
        orNothing: Bool = false,
        upTo bytesMax: Int = Limits.commandBodyBytesMax
    ) async throws(Problem) -> Command {
        try await command(upTo: bytesMax) { json throws(Problem) in
            try Problem.decoding { () throws(APIDecodingError) in
                let json = orNothing && json.isEmpty ? Array("{}".utf8) : json
                return try APIDecoder(.strict).decode(from: json)
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
        head.headers.first(name: "Content-Length").flatMap { Int64($0.withoutBlanks) }
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

    /// The same with a request id of its own: a problem that is a part of an answer.
    func named(_ problem: Problem) -> Problem { server.named(told(problem)) }

    /// Answers with a value of the API.
    ///
    /// `byteCount` is about the length of JSON that may be long; such JSON is encoded off the event
    /// loop.
    func respond(
        with value: some Encodable & Sendable,
        byteCount: Int = 0,
        _ headers: HTTPHeaders = HTTPHeaders(),
        status: HTTPResponseStatus = .ok
    ) async throws(Problem) {
        let json = try await work(onBytes: byteCount) { APIEncoder().encode(value) }
        await respond(json, headers, status: status)
    }

    func respond(
        _ bytes: [UInt8],
        as mediaType: String = MediaType.json,
        _ headers: HTTPHeaders = HTTPHeaders(),
        status: HTTPResponseStatus = .ok
    ) async {
        let memory: UserShare?
        do throws(Problem) {
            memory = try hold(bytes.count)
        } catch {
            return await respond(error)
        }
        var headers = headers
        headers.add(name: "Content-Type", value: mediaType)
        await writer.respond(status, headers, body: bytes)
        withExtendedLifetime(memory) {}
    }

    func respond(_ problem: Problem, _ headers: HTTPHeaders = HTTPHeaders()) async {
        await writer.respond(named(problem), headers)
    }
}

extension Exchange {
    /// The parameters of the query; any other is refused.
    func parameters<Query: Decodable>(hint: String? = nil) throws(Problem) -> Query {
        try Self.parameters(query, hint: hint)
    }

    /// `hint` is for a query that has other parameters than it needs.
    static func parameters<Query: Decodable>(
        _ query: Substring,
        hint: String? = nil
    ) throws(Problem) -> Query {
        do throws(APIDecodingError) {
            return try APIDecoder(.strict).decode(query: query)
        } catch {
            var problem = Problem(error)
            switch error {
            case .badEncoding(let name):
                problem.hint = "Encode it: curl -G --data-urlencode \(name)=…"
            case .unknownMember, .repeatedMember, .missingMember:
                problem.hint = hint ?? problem.hint
            case .notJSON, .wrongType, .outOfRange, .unknownValue, .invalid: break
            }
            throw problem
        }
    }

    func refuseParameters() throws(Problem) {
        guard !query.isEmpty else { return }
        let _: NoParameters = try parameters()
    }

    private struct NoParameters: Decodable {}

    /// The scope of a route that takes no parameter but `account`.
    func scope() throws(Problem) -> ScopeKey {
        let query: AccountQuery = try parameters()
        return try scope(of: query.account)
    }
}

extension Exchange {
    func scope(of account: String?) throws(Problem) -> ScopeKey {
        scope(try AccountName(command: head.account(account)))
    }

    func selection(_ rows: ScopeQuery) throws(Problem) -> ScopeSelection {
        var rows = rows
        rows.account = try head.account(rows.account)
        return try ScopeSelection(rows)
    }
}

extension HTTPRequestHead {
    /// The account that a request names: the parameter or member `account`, or `Larder-Account`;
    /// the two must not differ.
    func account(_ given: String?) throws(Problem) -> String? {
        guard let field = headers.first(name: "Larder-Account") else { return given }
        guard given == nil || given == field else {
            throw Problem(
                .badRequest,
                "account: it is '\(given ?? "")', and Larder-Account is '\(field)'",
                hint: "Give one of the two."
            )
        }
        return field
    }
}

extension Exchange {
    func stats() async throws(Problem) -> StatsReport {
        var report = engine.monitor.stats()
        report.connections = server.connections.counts
        do {
            try await server.meters.sum().fill(&report)
        } catch {
            throw Problem(.internal, "an event loop does not tell what it counted")
        }
        return report
    }
}

/// Frames on their way to a client, in the form that it likes best; the head waits for the first.
final class FrameStream {
    private let exchange: Exchange
    private let format: FrameFormat
    private var hasBegun = false

    init(_ exchange: Exchange) {
        self.exchange = exchange
        format = FrameFormat(accepting: exchange.accepted)
    }

    /// Returns false once the connection is closed.
    func send(_ frame: some StreamFrame) async -> Bool {
        await send([frame])
    }

    func send(_ frames: [some StreamFrame]) async -> Bool {
        if !hasBegun {
            hasBegun = true
            let headers = exchange.frameHeaders(format.mediaType)
            guard await exchange.writer.begin(.ok, headers, isFlushed: false) else { return false }
        }
        return await exchange.writer.send(frames.flatMap(format.encode))
    }

    func end() async {
        await exchange.writer.end()
    }
}

extension Exchange {
    var accepted: [String] { head.headers["Accept"] }

    fileprivate func frameHeaders(_ mediaType: String) -> HTTPHeaders {
        ["Content-Type": mediaType, "Cache-Control": "no-store", "Vary": "Accept"]
    }
}

/// The frames of one answer as a JSON array, for a client that reads no stream.
///
/// The array is sent with its length once the last frame is there, and without heartbeats.
final class FrameArray {
    private let exchange: Exchange
    private let memory: UserShare?
    private var pieces: [[UInt8]] = []
    private var byteCount = 0
    private var refusal: Problem?

    init(_ exchange: Exchange) {
        self.exchange = exchange
        memory = exchange.server.memory.take(0, for: exchange.peer.uid)
    }

    /// False when there is no room for it, which ``end()`` then says.
    func take(_ frame: some StreamFrame) -> Bool {
        guard !frame.isHeartbeat else { return true }
        let mark: UInt8 = pieces.isEmpty ? UInt8(ascii: "[") : UInt8(ascii: ",")
        let piece = [mark] + frame.encodedJSON()
        byteCount += piece.count
        guard let memory, memory.grow(to: byteCount) else {
            refusal = Problem(
                .overloaded,
                "answers and bodies of this user wait with \(Limits.heldBytesPerUserMax) bytes already",
                hint: "Accept application/jsonl, which is sent as it comes."
            )
            return false
        }
        pieces.append(piece)
        return true
    }

    /// Sends what was taken, a frame at a time.
    func end() async throws(Problem) {
        if let refusal { throw refusal }
        pieces.append(Array((pieces.isEmpty ? "[]" : "]").utf8))
        var headers = exchange.frameHeaders(MediaType.json)
        headers.add(name: "Content-Length", value: String(pieces.reduce(0) { $0 + $1.count }))
        guard await exchange.writer.begin(.ok, headers, isFlushed: false) else { return }
        for index in pieces.indices {
            guard await exchange.writer.send(pieces[index]) else { return }
            pieces[index] = []
        }
        await exchange.writer.end()
    }
}
