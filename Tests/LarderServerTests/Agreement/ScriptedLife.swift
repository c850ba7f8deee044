import LarderEngine
import LarderJSON
import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Synchronization
import Testing

/// An origin that gives what it is told to.
private final class ScriptedOrigin: Sendable {
    struct State {
        /// What it has under its paths.
        var resources: [String: String] = [:]
        /// What it answers to each write.
        var writeStatus = 204
        /// Status of its answer to each read; nil: it sends the resource.
        var readStatus: Int?
    }

    let state = Mutex(State())

    func answer(_ request: UpstreamRequest) -> ScriptedAnswer {
        state.withLock { state in
            guard request.method == "GET" else { return .reply(status: state.writeStatus) }
            if let status = state.readStatus { return .reply(status: status) }
            let path = String(request.url.text.dropFirst(ServerFixture.baseURL.count))
            return state.resources[path].map { .json($0) } ?? .reply(status: 404)
        }
    }
}

/// What clients and an origin do to the ids that all routes are asked for, and what these then say.
///
/// A modifier is held until the test has it sent, the one that was accepted first before the others.
/// It is sent over other devices' edits, too.
final class ScriptedLife: Sendable {
    let server: ServerFixture
    let round: RouteRound
    private let origin: ScriptedOrigin
    private let state = Mutex(State())

    private struct State {
        /// Those that are held, in the order in which their time comes.
        var held: [(id: ModifierID, due: Duration)] = []
        var accepted = 0
    }

    /// With `other` they have one origin.
    init(
        _ server: ServerFixture,
        _ account: AccountName = .default,
        beside other: ScriptedLife? = nil
    ) async throws {
        self.server = server
        round = try await RouteRound(server, account)
        origin = other?.origin ?? ScriptedOrigin()
        server.upstream.answerOthers { [origin] in origin.answer($0) }
    }

    static func id(_ path: String) throws -> EntryID {
        path.hasPrefix("/") ? try EntryID(ServerFixture.baseURL + path) : try EntryID(path)
    }

    static func entity(_ key: String) throws -> EntryID {
        EntryID(EntityName(try EntityKey(key), of: try OriginName("example")))
    }

    // MARK: The origin

    /// Has the origin give something under a path from now on; nil: 404.
    func serve(_ path: String, _ json: String?) {
        origin.state.withLock { $0.resources[path] = json }
    }

    /// Has the origin answer each read with 503 from now on.
    func failReads() {
        origin.state.withLock { $0.readStatus = 503 }
    }

    func fetch(_ path: String, normalize: Bool = true) async throws {
        var options = FetchOptions(policy: .networkOnly)
        (options.normalize, options.account) = (normalize, round.account.text)
        let command = FetchCommand(url: ServerFixture.baseURL + path, options: options)
        _ = try await round.client.ask("GET", "/v1/fetch?\(APIEncoder().query(command))")
    }

    /// Has the origin give something, and a fetch bring it.
    func cache(_ path: String, _ json: String?, normalize: Bool = true) async throws {
        serve(path, json)
        try await fetch(path, normalize: normalize)
    }

    // MARK: Clients

    /// Has a modifier of a path or a key accepted, and held.
    @discardableResult
    func accept(_ target: String, _ effect: String, lane: String? = nil) async throws -> ModifierID
    {
        let (number, due) = state.withLock { state in
            state.accepted += 1
            let due = Duration.seconds(60 * state.accepted)
            return (state.accepted, due)
        }
        let id = try ModifierID("m\(number)")
        let hold = max(due - server.clock.monotonic(), .seconds(1))
        let name = target.contains(":") ? try Self.entity(target) : try Self.id(target)
        let lane = lane.map { #""lane":"\#($0)","# } ?? ""
        let json = """
            {"id":"\(id.text)","account":"\(round.account.text)",\(lane)"hold":"\(hold.components.seconds)s",\
            "changes":[{"target":{"id":"\(name)"},"effect":\(effect)}],"on_conflict":"client",\
            "request":{"method":"PUT","url":"\(ServerFixture.baseURL)/w/\(number)"}}
            """
        let answer = try await round.client.ask("POST", "/v1/modifiers", body: Array(json.utf8))
        #expect(answer.status == 202, "\(answer.text)")
        state.withLock { $0.held.append((id, server.clock.monotonic() + hold)) }
        return id
    }

    /// Has the first of those that are held sent, and the origin answer it; false where none is.
    @discardableResult
    func settle(_ status: Int) async throws -> Bool {
        origin.state.withLock { $0.writeStatus = status }
        let first = state.withLock { $0.held.isEmpty ? nil : $0.held.removeFirst() }
        guard let first else { return false }
        let now = server.clock.monotonic()
        server.clock.advance(by: max(first.due - now, .zero))
        let path = PercentCoding.modifierPath(first.id)
        let query = "?wait=60s&account=\(round.account.text)"
        let answer = try await round.client.ask("GET", path + query)
        #expect(answer.status == 200, "\(answer.text)")
        return true
    }

    /// Cancels one of those that are held.
    func cancel(_ random: inout SeededRandom) async throws {
        let drawn = random.next()
        let id = state.withLock { state -> ModifierID? in
            guard !state.held.isEmpty else { return nil }
            return state.held.remove(at: Int(drawn % UInt64(state.held.count))).id
        }
        if let id { try await cancel(id) }
    }

    func cancel(_ id: ModifierID) async throws {
        state.withLock { state in state.held.removeAll { $0.id == id } }
        let path = PercentCoding.modifierPath(id)
        _ = try await round.client.ask("DELETE", path + "?account=\(round.account.text)")
    }

    func evict(_ selection: String, shared: Bool = false) async throws {
        let scope = shared ? #","scope":"shared""# : #","account":"\#(round.account.text)""#
        let body = Array("{\(selection)\(scope)}".utf8)
        let answer = try await round.client.ask("POST", "/v1/evict", body: body)
        #expect(answer.status == 200, "\(answer.text)")
    }

    func pin(_ path: String) async throws {
        let path = PercentCoding.pinPath(try Self.id(path))
        _ = try await round.client.ask("PUT", path + "?account=\(round.account.text)")
    }

    func unpin(_ path: String) async throws {
        let path = PercentCoding.pinPath(try Self.id(path))
        _ = try await round.client.ask("DELETE", path + "?account=\(round.account.text)")
    }

    /// What is released becomes the cache's again, and copies of shared rows go.
    func maintain() async throws { try await server.store.maintain() }

    // MARK: What is told

    /// Expects all routes to say the same of each id; what they say.
    @discardableResult
    func agree(
        _ ids: [EntryID],
        _ note: String = "",
        _ location: SourceLocation = #_sourceLocation
    ) async throws -> [EntryID: Telling] {
        var agreed: [EntryID: Telling] = [:]
        for (id, tellings) in try await round.tellings(ids) {
            let disagreements = Telling.disagreements(tellings)
            for text in disagreements {
                Issue.record("\(note) \(id): \(text)", sourceLocation: location)
            }
            agreed[id] =
                tellings.first { $0[.body] != nil || $0[.content] != "shown" && $0[.rev] != nil }
                ?? tellings.first { $0[.content] != nil }
        }
        return agreed
    }
}
