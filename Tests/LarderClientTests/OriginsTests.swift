import FoundationEssentials
import LarderClient
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@Suite("Origins through the client", .timeLimit(.minutes(5)))
struct OriginsTests {
    private func report(_ name: String) throws -> OriginReport {
        var settings = OriginSettings(
            name: try OriginName(name),
            baseURL: try WebURL("https://\(name).example")
        )
        settings.redirectHosts = [try HostPort("cdn.example")]
        return OriginReport(
            settings: settings,
            source: .api,
            condition: OriginCondition(
                state: .online,
                since: Timestamp(milliseconds: 1_700_000_000_000),
                isOfflineByHand: false
            )
        )
    }

    @Test("The list carries what the daemon tells of each")
    func list() async throws {
        try await withDaemon { daemon, client in
            var second = try report("b")
            second.source = .file("/etc/larder/larder.yaml")
            second.isOfflineByHand = true
            second.settings.normalize = NormalizeRules(byType: .standard)
            second.state = .offline
            let body = OriginReport.encoded([try report("a"), second])
            daemon.answer("/v1/origins", with: .reply(200, body: body))
            let origins = try await client.origins()
            #expect(origins.map(\.name) == ["a", "b"])
            #expect(origins[0].baseURL == "https://a.example/")
            #expect(origins[0].source == .api)
            #expect(origins[0].state == .online)
            #expect(origins[0].redirectHosts == ["cdn.example"])
            #expect(origins[0].since?.timeIntervalSince1970 == 1_700_000_000)
            #expect(origins[1].source == .file("/etc/larder/larder.yaml"))
            #expect(origins[1].isOfflineByHand)
            #expect(origins[0].normalize == nil)
            #expect(
                origins[1].normalize == [
                    "by_type": ["type": ["__typename", "type", "@type"], "id": ["id", "_id"]],
                    "types": [], "paths": [],
                ]
            )
        }
    }

    @Test("A definition travels whole")
    func add() async throws {
        try await withDaemon { daemon, client in
            let answer = OriginAnswer.reply(201, body: try report("a").encoded())
            daemon.answer("/v1/origins", with: answer)
            daemon.answer("/v1/origins/a", with: answer)
            var definition = OriginDefinition(name: "a", baseURL: "https://a.example")
            definition.allowsPrivate = true
            definition.redirectHosts = ["cdn.example:8443"]
            definition.isShared = true
            definition.proxy = "http://u:p@proxy.example:3128"
            definition.caFile = "/etc/ca.pem"
            definition.headers = [.init(name: "X-Key", value: "secret")]
            definition.normalize = ["by_type": true, "types": [["type": "A", "key": []]]]
            #expect(try await client.addOrigin(definition).name == "a")
            try await client.addOrigin(definition, replacing: true)
            let requests = daemon.requests.all
            #expect(requests.map(\.method) == ["POST", "PUT"])
            let command = try OriginCommand(json: requests[0].body)
            #expect(command.name.text == "a")
            #expect(try OriginCommand(command.name, json: requests[1].body) == command)
            let text = String(decoding: requests[1].body, as: UTF8.self)
            for part in [
                #""base_url":"https://a.example/""#, #""allow_private":true"#,
                #""redirect_hosts":["cdn.example:8443"]"#, #""scope":"shared""#,
                #""proxy":"http://u:p@proxy.example:3128""#,
                #""ca_file":"/etc/ca.pem""#, #""headers":{"X-Key":"secret"}"#,
                #""normalize":{"by_type":true,"types":[{"type":"A","key":[]}]}"#,
            ] {
                #expect(text.contains(part), "\(part)")
            }
        }
    }

    @Test("What the daemon would refuse is refused before it is sent")
    func refusedHere() async throws {
        try await withDaemon { daemon, client in
            var definition = OriginDefinition(name: "a", baseURL: "https://a.example")
            definition.redirectHosts = ["b.example/x"]
            for bad in [
                definition, OriginDefinition(name: "a b", baseURL: "https://a.example"),
                OriginDefinition(name: "a", baseURL: "a.example"),
            ] {
                let error = await #expect(throws: LarderError.self) {
                    try await client.addOrigin(bad)
                }
                guard let problem = error?.problem else {
                    Issue.record("\(String(describing: error))")
                    continue
                }
                #expect(
                    problem.type == "urn:larder:bad-request" || problem.type == "urn:larder:bad-url"
                )
            }
            #expect(daemon.requests.all.isEmpty)
        }
    }

    @Test("Offline, online, removal and check go to their paths")
    func paths() async throws {
        try await withDaemon { daemon, client in
            let answer = OriginAnswer.reply(200, body: try report("a").encoded())
            daemon.answer("/v1/origins/a/offline", with: answer)
            daemon.answer("/v1/origins/a/online", with: answer)
            daemon.answer("/v1/origins/a", with: .reply(204))
            var check = OriginCheckReport(
                name: try OriginName("a"),
                url: try WebURL("https://a.example/x"),
                latency: .milliseconds(83)
            )
            check.peer = "192.0.2.1:443"
            check.httpVersion = "HTTP/2"
            check.tlsVersion = "TLS 1.3"
            check.problem = Problem(.unreachable, "no")
            daemon.answer("/v1/origins/a/check", with: .reply(200, body: check.encoded()))
            try await client.setOrigin("a", offline: true)
            try await client.setOrigin("a", offline: false)
            try await client.removeOrigin("a")
            let found = try await client.checkOrigin("a", path: "/x")
            #expect(found.url == "https://a.example/x")
            #expect(found.latency == .milliseconds(83))
            #expect(found.status == nil)
            #expect(found.peer == "192.0.2.1:443")
            #expect(found.httpVersion == "HTTP/2")
            #expect(found.tlsVersion == "TLS 1.3")
            #expect(found.problem?.type == "urn:larder:unreachable")
            let requests = daemon.requests.all
            #expect(requests.map(\.method) == ["POST", "POST", "DELETE", "POST"])
            #expect(requests.last?.body == Array(#"{"path":"/x"}"#.utf8))
        }
    }
}
