import FoundationEssentials
import LarderAPI
import LarderClient
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@Suite("Origins through the client", .timeLimit(.minutes(5)))
struct OriginsTests {
    private func report(_ name: String) -> OriginReport {
        OriginReport(
            name: name,
            source: .api,
            file: nil,
            condition: OriginCondition(state: .online, since: nil),
            settings: OriginDefinition(baseURL: "https://\(name).example/")
        )
    }

    @Test("The list has all origins, also one in a state that only a newer daemon knows")
    func list() async throws {
        try await withDaemon { daemon, client in
            var second = report("b")
            second.condition.state = .init(rawValue: "asleep")
            let body = Page(items: [report("a"), second]).encoded()
            daemon.answer("/v1/origins", with: .reply(200, body: body))
            let origins = try await client.origins()
            #expect(origins == [report("a"), second])
        }
    }

    @Test("A definition travels whole")
    func add() async throws {
        try await withDaemon { daemon, client in
            let answer = OriginAnswer.reply(201, body: report("a").encoded())
            daemon.answer("/v1/origins/a", with: answer)
            daemon.answer("/v1/origins/a", with: answer)
            var definition = OriginDefinition(baseURL: "https://a.example")
            definition.headers = NamedValues([.init("X-Key", "secret")])
            definition.normalize = OriginNormalize()
            definition.normalize?.byType = .standard
            #expect(try await client.addOrigin("a", definition) == report("a"))
            try await client.addOrigin("a", definition, replacing: true)
            let requests = daemon.requests.all
            #expect(requests.map(\.method) == ["PUT", "PUT"])
            #expect(requests.map { $0.headers["If-None-Match"] } == ["*", nil])
            for request in requests {
                #expect(try OriginDefinition(decoding: request.body) == definition)
            }
        }
    }

    @Test("Offline, online, removal and check go to their paths")
    func paths() async throws {
        try await withDaemon { daemon, client in
            let answer = OriginAnswer.reply(200, body: report("a").encoded())
            daemon.answer("/v1/origins/a", with: answer, answer, .reply(204))
            let check = OriginCheckReport(
                name: "a",
                url: "https://a.example/x",
                latencyMs: 83.5,
                peerIsProxy: false
            )
            daemon.answer("/v1/origins/a/check", with: .reply(200, body: check.encoded()))
            try await client.setOrigin("a", offline: true)
            try await client.setOrigin("a", offline: false)
            try await client.removeOrigin("a")
            #expect(try await client.checkOrigin("a", path: "/x") == check)
            let requests = daemon.requests.all
            #expect(requests.map(\.method) == ["PATCH", "PATCH", "DELETE", "POST"])
            #expect(
                requests.prefix(2).map(\.bodyText) == [#"{"offline":true}"#, #"{"offline":false}"#]
            )
            #expect(requests.last?.body == Array(#"{"path":"/x"}"#.utf8))
        }
    }

    @Test("A credential travels with its account, and its report comes back (case 23)")
    func credential() async throws {
        try await withDaemon { daemon, client in
            var report = CredentialReport(account: "default", refused: false, waiting: 3)
            (report.source, report.header) = (.user, "X-Key")
            let answer = OriginAnswer.reply(200, body: report.encoded())
            daemon.answer("/v1/origins/a/credential", with: answer, answer, answer)
            let expires = LarderAPI.Timestamp(milliseconds: 1_800_000_000_000)
            let set = try await client.setCredential(
                "s3cret",
                as: "X-Key",
                at: "a",
                expires: expires
            )
            #expect(set == report)
            #expect(try await client.credential(at: "a") == report)
            #expect(try await client.removeCredential(at: "a").waiting == 3)
            let requests = daemon.requests.all
            #expect(requests.map(\.method) == ["PUT", "GET", "DELETE"])
            var command = CredentialCommand(value: "s3cret")
            (command.header, command.expires) = ("X-Key", expires)
            command.account = try CredentialCommand(decoding: requests[0].body).account
            #expect(try CredentialCommand(decoding: requests[0].body) == command)
        }
    }

    @Test("A program renews a credential each time the daemon asks, until its task is cancelled")
    func renewal() async throws {
        try await withDaemon(account: "work") { daemon, client in
            let path = "/v1/origins/a/credential"
            func order(_ reason: String, _ lease: String) -> OriginAnswer {
                .chunked([#"{"reason":"\#(reason)","#, #""lease":"\#(lease)"}"# + "\n"])
            }
            let renewal = path + "/renewal?account=work"
            daemon.answer(
                renewal,
                with: order("refused", "1"),
                order("expiring", "2"),
                order("refused", "3"),
                .never
            )
            let report = CredentialReport(account: "work", refused: false, waiting: 0)
            daemon.answer(
                path,
                with: .reply(200, body: report.encoded()),
                .problem(Problem(.leaseOver, "another program renews"))
            )
            let reasons = Recorder<RenewalReason>()
            let task = Task {
                try await client.provideCredential(at: "a") { reason in
                    reasons.record(reason)
                    guard reason == .refused else { throw LarderError.timedOut }
                    return CredentialCommand(value: "s3cret \(reasons.all.count)")
                }
            }
            // Four orders, and the credentials of two of them.
            _ = try await daemon.requests.element(5)
            task.cancel()
            await #expect(throws: LarderError.cancelled) { try await task.value }
            #expect(reasons.all == [.refused, .expiring, .refused])
            let bodies = daemon.requests.all.filter { $0.method == "PUT" }.map(\.bodyText)
            #expect(
                bodies == [
                    #"{"account":"work","value":"s3cret 1","lease":"1"}"#,
                    #"{"account":"work","value":"s3cret 3","lease":"3"}"#,
                ]
            )
        }
    }

    @Test("After a credential that the daemon refuses, a program renews at the next order")
    func refusedCredential() async throws {
        try await withDaemon { daemon, client in
            let path = "/v1/origins/a/credential"
            let order = OriginAnswer.chunked([#"{"reason":"refused","lease":"1"}"# + "\n"])
            daemon.answer(path + "/renewal", with: order, order, .never)
            let report = CredentialReport(account: "default", refused: false, waiting: 0)
            daemon.answer(
                path,
                with: .problem(Problem(.badRequest, "the value is empty")),
                .reply(200, body: report.encoded())
            )
            let reasons = Recorder<RenewalReason>()
            let task = Task {
                try await client.provideCredential(at: "a") { reason in
                    reasons.record(reason)
                    return CredentialCommand(value: reasons.all.count == 1 ? "" : "s3cret")
                }
            }
            // Three orders, and two credentials.
            _ = try await daemon.requests.element(4)
            task.cancel()
            await #expect(throws: LarderError.cancelled) { try await task.value }
            let bodies = daemon.requests.all.filter { $0.method == "PUT" }.map(\.bodyText)
            #expect(bodies == [#"{"value":"","lease":"1"}"#, #"{"value":"s3cret","lease":"1"}"#])
        }
    }

    @Test("A program gives up where no origin has the name")
    func renewalOfNothing() async throws {
        try await withDaemon { daemon, client in
            let problem = Problem(.noSuchOrigin, "there is no origin 'a'")
            daemon.answer("/v1/origins/a/credential/renewal", with: .problem(problem))
            await #expect(throws: LarderError.unknownOrigin(problem)) {
                try await client.provideCredential(at: "a") { _ in CredentialCommand(value: "") }
            }
        }
    }
}
