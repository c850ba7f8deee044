import LarderAPI
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

/// Each policy against each way in which an origin can behave, with something fresh, something
/// stale, and nothing cached: through the real server and the real upstream to a real origin, by
/// `/v1/fetch` and by the raw route.
///
/// A new way is one line in ``OriginRow``; what is expected stands in ``OutcomeTable``.
@Suite("Good and bad origins", .serialized, .timeLimit(.minutes(5)))
struct BadOriginTests {
    private static let old = #"{"v":"old"}"#
    private static let maxEntryBytes: Int64 = 100_000

    @Test("By /v1/fetch", arguments: OriginRow.all)
    func fetch(row: OriginRow) async throws {
        try await each(OutcomeTable.fetch, row) { cell in try await cell.fetch() }
    }

    @Test("By the raw route", arguments: OriginRow.all.filter { $0.result != .brings413 })
    func raw(row: OriginRow) async throws {
        // The raw route has no parameters: the policy is the origin's.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for policy in FetchPolicy.allCases {
                let lines = OutcomeTable.raw.filter { $0.policy == policy }
                group.addTask { try await each(lines, row, policy) { try await $0.raw() } }
            }
            try await group.waitForAll()
        }
    }

    @Test("Both tables have every policy with everything that can be cached once")
    func tablesAreComplete() {
        for table in [OutcomeTable.fetch, OutcomeTable.raw] {
            for policy in FetchPolicy.allCases {
                for cached in CachedState.allCases {
                    let found = table.filter { $0.policy == policy && $0.cached == cached }
                    #expect(found.count == 1, "\(policy), \(cached)")
                }
            }
        }
    }

    /// Plays a row with each line of a table, all at the same time.
    private func each(
        _ lines: [OutcomeTable.Line],
        _ row: OriginRow,
        _ policy: FetchPolicy = .cacheThenNetwork,
        play: @escaping @Sendable (Cell) async throws -> String
    ) async throws {
        var setup = GatewayFixture.Setup()
        setup.fetch.policy = policy
        setup.fetch.networkWait = row.networkWait
        setup.fetch.timeout = row.timeout
        setup.maxEntryBytes = Self.maxEntryBytes
        try await GatewayFixture.run(setup) { gateway in
            gateway.answer("/moved", with: .json(#"{"v":"new"}"#))
            gateway.answer("/circle", with: .redirect(to: "/base/circle/2"))
            gateway.answer("/circle/2", with: .redirect(to: "/base/circle"))
            let cells = lines.map { Cell(gateway: gateway, line: $0, row: row) }
            for cell in cells { try await cell.prepare() }
            if row.answers == nil { await gateway.origin.stop() }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for cell in cells {
                    group.addTask {
                        let outcome = try await play(cell)
                        #expect(outcome == cell.expected, "\(cell)")
                        try await cell.expectOldIsKept()
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}

/// One request: a policy, what is cached, and how the origin behaves.
private struct Cell: Sendable, CustomStringConvertible {
    let gateway: GatewayFixture
    let line: OutcomeTable.Line
    let row: OriginRow
    /// What a held answer waits for.
    let gate = Gate()

    var description: String { "\(line.policy.rawValue), \(line.cached.rawValue), \(row)" }
    private var path: String { "/\(line.policy.rawValue)/\(line.cached.rawValue)" }
    private var result: NetworkResult {
        line.cached == .nothing ? row.result : row.resultIfCached
    }
    var expected: String { line.expected(result) }
    /// Every request names JSON, as a client of an API does.
    private static let accept = "application/json"

    /// Has the origin give what is to be cached, and then behave as the row says.
    func prepare() async throws {
        var answers = row.answers ?? []
        if row.isHeld { answers = answers.map { $0.held(by: gate) } }
        guard line.cached != .nothing else {
            return gateway.origin.answer("/base" + path, with: answers)
        }
        var headers = row.hasETag ? ["ETag": "\"old\""] : [:]
        if line.cached == .fresh { headers["Cache-Control"] = "max-age=3600" }
        if row.hasETag { answers = Array(answers.dropFirst()) }
        gateway.origin.answer(
            "/base" + path,
            with: [.json(#"{"v":"old"}"#, headers: headers)] + answers
        )
        #expect(try await ask(.networkOnly, timeout: .seconds(60)).status == 200, "\(self)")
    }

    /// What was cached is still there, unless the network has something else or says that it is
    /// gone.
    func expectOldIsKept() async throws {
        guard line.cached != .nothing else { return }
        switch result {
        case .brings, .bringsLate, .deletes: return
        case .confirms, .fails, .breaksDown, .refuses, .brings413: break
        }
        let response = try await ask(.cacheOnly, timeout: .seconds(60))
        #expect(outline(response).hasPrefix("old"), "\(self)")
    }

    private func ask(
        _ policy: FetchPolicy,
        timeout: Duration? = nil,
        meanwhile: (RawClient) async throws -> Void = { _ in }
    ) async throws -> RawResponse {
        let client = try await gateway.connect()
        let options = FetchOptions(policy: .init(rawValue: policy.rawValue))
        var command = FetchCommand(url: try gateway.url(path).text, options: options)
        command.options.timeout = timeout
        command.options.headers = ["Accept": Self.accept]
        let body = APIEncoder().encode(command)
        let head = "POST /v1/fetch HTTP/1.1\r\nHost: x\r\nContent-Length: \(body.count)\r\n\r\n"
        try await client.send(Array(head.utf8) + body)
        try await meanwhile(client)
        return try await client.response()
    }

    // MARK: /v1/fetch

    func fetch() async throws -> String {
        let response = try await ask(line.policy) { client in
            guard row.isHeld else { return }
            if expected.hasPrefix("old") { try await client.seen(#""v":"old""#) }
            gate.open()
        }
        return outline(response)
    }

    private func outline(_ response: RawResponse) -> String {
        do {
            guard response.status == 200 else { return refusal(try response.problem()) }
            let frames = try response.frames()
            guard case .end = frames.last else { return "no end" }
            return frames.dropLast().map(word).joined(separator: " ")
        } catch {
            return "\(error)"
        }
    }

    private func word(_ frame: FetchFrame) -> String {
        switch frame {
        case .snapshot(let snapshot):
            switch snapshot.entry.content {
            case .json(let bytes), .bytes(let bytes): shown(bytes)
            case .href, nil: "href"
            }
        case .unchanged: "same"
        case .deleted: "gone"
        case .problem(let frame): word(frame.problem, "?")
        case .origin, .heartbeat, .end, .other: frame.type
        }
    }

    private func shown(_ bytes: [UInt8]) -> String {
        if bytes == Array(#"{"v":"old"}"#.utf8) { return "old" }
        return bytes == row.body ? "new" : String(decoding: bytes, as: UTF8.self)
    }

    private func refusal(_ problem: Problem) -> String { word(problem, "!") }

    /// The mark where the problem is the one that the row names, else what it is.
    private func word(_ problem: Problem, _ mark: String) -> String {
        let isExpected =
            switch result {
            case .fails(let kind): problem.kind.rawValue == kind
            case .breaksDown(let status), .refuses(let status):
                problem.kind == .originStatus && problem.originStatus == status
                    && problem.quotedBody == Array("own words".utf8)
            case .brings413:
                problem.kind == .entryTooLarge
                    && problem.rawHref == "/o/\(GatewayFixture.name)\(path)"
            case .brings, .bringsLate, .confirms, .deletes: false
            }
        if isExpected { return mark }
        let isKnown = problem.kind == .miss || problem.kind == .deleted
        return mark + problem.kind.rawValue + (isKnown ? "" : ": \(problem.detail)")
    }

    // MARK: The raw route

    func raw() async throws -> String {
        let client = try await gateway.connect()
        try await client.send(
            "GET /o/\(GatewayFixture.name)\(path) HTTP/1.1\r\nHost: x\r\n"
                + "Accept: \(Self.accept)\r\n\r\n"
        )
        if !expected.hasPrefix("old") { gate.open() }
        let response = try await client.response()
        gate.open()
        #expect(response.headers["Cache-Status"]?.hasPrefix("larder; ") == true, "\(self)")
        if response.headers["Content-Type"] == Problem.mediaType {
            let problem = try Problem(decoding: response.body)
            let isDeleted = problem.kind == .deleted && [404, 410].contains(response.status)
            let isMiss = problem.kind == .miss && response.status == 504
            guard problem.kind != .deleted || isDeleted, problem.kind != .miss || isMiss else {
                return "\(response.status) \(problem.kind.rawValue)"
            }
            return refusal(problem)
        }
        switch result {
        case .breaksDown(let status), .refuses(let status):
            if response.status == status, response.text == "own words" { return "!" }
        case .deletes:
            if [404, 410].contains(response.status), response.text == "no" { return "!" }
        case .fails("redirect-refused"):
            // The client may follow it.
            if response.status == 302, response.headers["Location"] != nil { return "!" }
        case .brings, .bringsLate, .confirms, .fails, .brings413: break
        }
        return (200..<300).contains(response.status)
            ? shown(response.body) : "\(response.status) \(response.text)"
    }
}
