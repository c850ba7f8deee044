import LarderAPI
import LarderJSON
import LarderModel
import LarderStore
import LarderStrategy
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

/// Origins that come and go while the engine runs, public hosts, redirects to listed hosts, and
/// checks.
@Suite(.timeLimit(.minutes(5)), .engine)
struct OriginTests {
    private let fixture = EngineFixture.running

    private func command(_ name: String, _ json: String) throws -> OriginCommand {
        try OriginCommand(name, json: json)
    }

    private func kind(_ body: () async throws -> Void) async -> ProblemKind? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? Problem)?.kind
        }
    }

    @Test("An unknown origin is refused with the command that adds it")
    func unknown() async throws {
        let url = try WebURL("https://other.example.com:8443/x")
        let refusal = try await fixture.fetch(url).refusal
        #expect(refusal?.kind == .unknownOrigin)
        #expect(fixture.upstream.asked.all.isEmpty)
        #expect(
            refusal?.hint == "An administrator adds it with: cachectl origin add "
                + "other.example.com-8443 https://other.example.com:8443"
        )
    }

    @Test("A public host serves the daemon's owner only, under an origin of its name")
    func implicit() async throws {
        try await EngineFixture.run(.with { $0.owner = 1_000 }) { fixture in
            let url = try WebURL("https://other.example.com/x")
            try await fixture.cache(url, .json("[1]"))
            let list = EntryListQuery()
            let rows = try await fixture.engine.entries.list(list, .one(fixture.scope)).items
            #expect(rows.map(\.origin) == ["other.example.com"])
            let stranger = Scope.own(uid: 1_001, account: .default)
            #expect(try await fixture.fetch(url, as: stranger).refusal?.kind == .unknownOrigin)
            let reports = fixture.engine.origins.reports()
            #expect(reports.map(\.name) == ["example", "other.example.com"])
            #expect(reports.map(\.source) == [.file, .implicit])
            #expect(reports.map(\.file) == ["larder.yaml", nil])
            #expect(reports[1].condition.state == .online)
            let status = await fixture.engine.monitor.status(connections: 0).origins
            #expect(status.map(\.name) == ["example", "other.example.com"])
        }
    }

    @Test("The public hosts that are remembered are bounded; the one not asked longest goes")
    func bounded() async throws {
        try await EngineFixture.run(.with { $0.owner = 1_000 }) { fixture in
            let context = fixture.engine.context
            for number in 0...Limits.implicitOriginsMax {
                let url = try WebURL("https://h\(number).example/")
                let origin = try context.origin(of: url, in: fixture.scope)
                context.originStates.noteConnectFailure(origin.name)
                // The first is asked again and again.
                _ = try context.origin(of: try WebURL("https://h0.example/"), in: fixture.scope)
            }
            let names = context.health.implicitOrigins.map(\.name.text)
            #expect(names.count == Limits.implicitOriginsMax)
            #expect(names.contains("h0.example"))
            #expect(!names.contains("h1.example"))
            #expect(context.health[try OriginName("h1.example")] == nil)
        }
    }

    @Test("A public host that is down is not forgotten for others while a client waits for it")
    func waitedFor() async throws {
        try await EngineFixture.run(.with { $0.owner = 1_000 }) { fixture in
            let (context, scope) = (fixture.engine.context, fixture.scope)
            let first = try context.origin(of: try WebURL("https://h0.example/"), in: scope)
            let wait = context.originStates.waitForReturn(of: first.name, as: scope.scope) {}
            context.originStates.noteConnectFailure(first.name)
            for number in 1...Limits.implicitOriginsMax {
                _ = try context.origin(of: try WebURL("https://h\(number).example/"), in: scope)
            }
            #expect(context.health[first.name]?.isDown == true)
            #expect(context.health[try OriginName("h1.example")] == nil)
            wait.end()
        }
    }

    @Test("A blob cannot lie under a public host of the daemon's user")
    func blobID() async throws {
        try await EngineFixture.run(.with { $0.owner = 1_000 }) { fixture in
            let id = try EntryID("https://other.example.com/x")
            let problem = #expect(throws: Problem.self) {
                _ = try fixture.engine.entries.take(id, fixture.scope, mediaType: nil, ttl: nil)
            }
            #expect(problem?.kind == .originID)
            let stranger = fixture.engine.store.key(for: .own(uid: 7, account: .default))
            _ = try fixture.engine.entries.take(id, stranger, mediaType: nil, ttl: nil)
        }
    }

    @Test("An added origin works immediately, and its file is readable by its owner only")
    func added() async throws {
        let url = try WebURL("https://new.example/x")
        let report = try await fixture.engine.origins.add(
            try command(
                "new",
                #"{"base_url":"https://new.example","headers":{"X-Key":"se\"cret"}}"#
            )
        )
        #expect(report.source == .api)
        #expect(report.settings.headers?["X-Key"] == "***")
        fixture.upstream.answer(url, with: .json("[1]"))
        #expect(try await fixture.fetch(url).shape == ["network", "end network"])
        let file = fixture.temporary.directory.path("state/origins.d/new.yaml")
        let text = String(decoding: try bytes(ofFile: file), as: UTF8.self)
        #expect(text.contains(#"X-Key: "se\"cret""#))
        #expect(try permissions(ofFile: file) == 0o600)
    }

    @Test("Adding an origin that is not acceptable names the reason")
    func refused() async throws {
        let engine = fixture.engine
        _ = try await engine.origins.add(try command("new", #"{"base_url":"https://n.example"}"#))
        let cases: [(String, String, ProblemKind)] = [
            ("new", #"{"base_url":"https://m.example"}"#, .preconditionFailed),
            ("example", #"{"base_url":"https://m.example"}"#, .preconditionFailed),
            ("other", #"{"base_url":"https://n.example/"}"#, .originExists),
            ("other", #"{"base_url":"https://api.example.com"}"#, .originExists),
            ("other", #"{"base_url":"ftp://n.example"}"#, .badRequest),
            (
                "other", #"{"base_url":"https://m.example","tls":{"ca_file":"/no/such"}}"#,
                .badRequest
            ),
            (".other", #"{"base_url":"https://m.example"}"#, .badRequest),
        ]
        for (name, json, expected) in cases {
            let found = await kind { _ = try await engine.origins.add(try command(name, json)) }
            #expect(found == expected, "\(name) \(json)")
        }
        #expect(engine.context.origins.known.map(\.name.text) == ["example", "new"])
    }

    @Test("An origin that was added can be replaced and removed, one of a file cannot")
    func changed() async throws {
        let engine = fixture.engine
        let name = try OriginName("new")
        let file = fixture.temporary.directory.path("state/origins.d/new.yaml")
        let first = try await engine.origins.replace(
            try command("new", #"{"base_url":"https://n.example"}"#)
        )
        #expect(first.isNew)
        engine.context.originStates.noteAnswer(name)
        let second = try await engine.origins.replace(
            try command("new", #"{"base_url":"https://n.example","allow_private":true}"#)
        )
        #expect(!second.isNew)
        #expect(second.report.settings.allowPrivate == true)
        // It is the same place: what is known of it stays.
        #expect(second.report.condition.state == .online)
        let third = try await engine.origins.replace(
            try command("new", #"{"base_url":"https://m.example"}"#)
        )
        #expect(third.report.condition.state == .unknown)
        _ = try await engine.origins.setOffline(name, true, for: 1_000)
        try await engine.origins.remove(name)
        #expect(engine.context.origins[name] == nil)
        #expect(try engine.store.offlineOrigins().isEmpty)
        #expect(throws: TemporaryDirectoryError.self) { try bytes(ofFile: file) }
        #expect(await kind { try await engine.origins.remove(name) } == .noSuchOrigin)
        let fixed = try OriginName("example")
        #expect(await kind { try await engine.origins.remove(fixed) } == .originInFile)
        let body = try command("example", #"{"base_url":"https://m.example"}"#)
        #expect(await kind { _ = try await engine.origins.replace(body) } == .originInFile)
    }

    @Test("Setting an origin offline or online renews the time of its state")
    func sinceByHand() async throws {
        let engine = fixture.engine
        let name = try OriginName("example")
        try await fixture.cache(try fixture.url("/a"), .json("[1]"))
        for isOffline in [true, false] {
            fixture.clock.advance(by: .seconds(5))
            let report = try await engine.origins.setOffline(name, isOffline, for: 1_000)
            #expect(report.condition.state == (isOffline ? .offline : .online))
            #expect(report.condition.since == .init(fixture.clock.now()))
        }
    }

    @Test(
        "A redirect to a listed host is followed, without what could be a credential",
        .engine { $0.origin.redirectHosts = [try HostPort("cdn.example")] }
    )
    func listedRedirect() async throws {
        let url = try fixture.url("/a")
        let target = try WebURL("https://cdn.example/b")
        fixture.upstream.answer(
            url,
            with: .reply(status: 302, headers: ["Location": "https://cdn.example/b"])
        )
        fixture.upstream.answer(target, with: .json("[1]"))
        let result = try await fixture.fetch(url) { command in
            command.headers = HeaderFields([
                .init(name: "Accept", value: "application/json"),
                .init(name: "Authorization", value: "secret"),
            ])
        }
        #expect(result.shape == ["network", "end network"])
        let asked = fixture.upstream.asked.all
        #expect(asked.map(\.url) == [url, target])
        #expect(asked.map { $0.headers["Authorization"] } == ["secret", nil])
        #expect(asked.map { $0.headers["Accept"] } == ["application/json", "application/json"])
    }

    @Test(
        "A redirect target that cannot be reached puts a write off, and its origin stays online",
        .engine { $0.origin.redirectHosts = [try HostPort("cdn.example")] }
    )
    func unreachableTarget() async throws {
        let url = try fixture.url("/a")
        let headers = ["Location": "https://cdn.example/b"]
        fixture.upstream.answer(url, with: .reply(status: 307, headers: headers))
        fixture.upstream.answer(try WebURL("https://cdn.example/b"), with: .unreachable)
        let effect = try Effect.json(#"{"type":"put","value":1}"#)
        let id = try await fixture.write(.url(url), effect)
        try await until {
            try await fixture.engine.modifiers.modifier(id, fixture.scope).state == .retryWait
        }
        let name = try OriginName("example")
        #expect(fixture.engine.context.health[name]?.state == .online)
    }

    @Test("A check asks whatever the state is, stores nothing, and tells what it met")
    func check() async throws {
        let engine = fixture.engine
        let name = try OriginName("example")
        engine.context.originStates.noteConnectFailure(name)
        fixture.upstream.answer(try fixture.url("/"), with: .reply("no", status: 500))
        var report = try await engine.origins.check(name, path: nil, for: 1_000)
        #expect(report.status == 500)
        #expect(report.peer == "192.0.2.1:443")
        #expect(report.tls == "TLS 1.3")
        #expect(report.problem == nil)
        #expect(engine.context.health[name]?.state == .online)
        report = try await engine.origins.check(name, path: "/v1?x", for: 1_000)
        #expect(report.url == (try fixture.url("/v1?x").text))
        #expect(report.problem?.type == "urn:larder:unreachable")
        #expect(engine.context.health[name]?.state == .offline)
        fixture.upstream.answer(try fixture.url("/"), with: .reply(status: 511))
        report = try await engine.origins.check(name, path: nil, for: 1_000)
        #expect(report.problem?.type == "urn:larder:captive")
        #expect(engine.context.health[name]?.state == .captive)
        #expect(engine.store.totals.entries == 0)
        for path in ["x", "//x/../..", "/a/../b", ""] {
            let found = await kind {
                _ = try await engine.origins.check(name, path: path, for: 1_000)
            }
            #expect(found == .badRequest, "\(path)")
        }
        _ = try await engine.origins.setOffline(name, true, for: 1_000)
        let found = await kind { _ = try await engine.origins.check(name, path: nil, for: 1) }
        #expect(found == .offline)
    }
}
