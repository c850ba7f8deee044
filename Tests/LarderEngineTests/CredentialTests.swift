import LarderAPI
import LarderJSON
import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

/// Credentials that users give for their accounts at an origin (cases 23 and 30).
@Suite("Credentials of accounts", .timeLimit(.minutes(5)), .engine)
struct CredentialTests {
    private let fixture = EngineFixture.running
    private let origin = "example"

    private var name: OriginName { get throws { try OriginName(origin) } }
    private let work: Scope

    init() throws {
        work = .own(uid: 1_000, account: try AccountName("work"))
    }

    @discardableResult
    private func set(
        _ value: String,
        as scope: Scope = EngineFixture.scope,
        header: String? = nil
    ) async throws -> CredentialReport {
        var command = CredentialCommand(value: value)
        command.header = header
        return try await fixture.engine.credentials.set(command, at: name, fixture.key(scope))
    }

    private func report(_ scope: Scope = EngineFixture.scope) async throws -> CredentialReport {
        try await fixture.engine.credentials.report(name, fixture.key(scope))
    }

    /// Values of a header in the sent requests, in the order of sending.
    private func sent(_ method: String, _ header: String = "Authorization") -> [String?] {
        fixture.upstream.asked.all.filter { $0.method == method }.map { $0.origin.headers[header] }
    }

    @Test("A daemon of the user's own reads a credential's file again when it changes (case 23)")
    func file() async throws {
        let lines = Recorder<String>()
        let setup = try EngineSetup.with { setup in
            setup.owner = 1_000
            setup.readFile = { path throws(Problem) in
                guard path == "/home/ada/my token" else { throw Problem(.badRequest, "no file") }
                return lines.all.last ?? ""
            }
        }
        let name = try name
        var left: TemporaryStore?
        lines.record("one")
        try await EngineFixture.run(setup) { fixture in
            left = fixture.temporary
            let (credentials, url) = (fixture.engine.credentials, try fixture.url("/r"))
            fixture.upstream.answer(url, with: .json("[1]"), .json("[2]"), .json("[3]"))
            let command = CredentialCommand(file: "/home/ada/my token")
            _ = try await credentials.set(command, at: name, fixture.scope)
            for line in ["one", "two", "not\none line"] {
                lines.record(line)
                await credentials.readFiles()
                try await fixture.fetch(url, .networkOnly)
            }
            let sent = fixture.upstream.asked.all.map { $0.origin.headers["Authorization"] }
            #expect(sent == ["one", "two", "two"], "a file without a valid value changes nothing")
            let other = fixture.key(.own(uid: 1_001, account: .default))
            let problem = await #expect(throws: Problem.self) {
                _ = try await credentials.set(command, at: name, other)
            }
            #expect(problem?.kind == .notPermitted)
            var both = command
            both.value = "three"
            await #expect(throws: Problem.self) {
                _ = try await credentials.set(both, at: name, fixture.scope)
            }
        }
        lines.record("four")
        try left?.open()
        try await EngineFixture.run(setup, on: left) { fixture in
            let url = try fixture.url("/r")
            fixture.upstream.answer(url, with: .json("[4]"))
            await fixture.engine.credentials.readFiles()
            try await fixture.fetch(url, .networkOnly)
            let sent = fixture.upstream.asked.all.map { $0.origin.headers["Authorization"] }
            #expect(sent == ["four"], "after a restart, too")
        }
    }

    @Test("A write that waits for a credential is sent once the user's own file changes (case 23)")
    func fileWakesWrite() async throws {
        let lines = Recorder<String>()
        let setup = try EngineSetup.with { setup in
            setup.owner = 1_000
            setup.readFile = { _ in lines.all.last ?? "" }
        }
        let name = try name
        lines.record("old")
        try await EngineFixture.run(setup) { fixture in
            let (credentials, url) = (fixture.engine.credentials, try fixture.url("/w"))
            fixture.upstream.answer(url, with: .reply(status: 401), .reply(status: 204))
            let command = CredentialCommand(file: "/home/ada/token")
            _ = try await credentials.set(command, at: name, fixture.scope)
            let id = try await fixture.write(.url(url), .none, "PUT")
            try await until {
                try await fixture.engine.modifiers.modifier(id, fixture.scope).state == .authWait
            }
            // The same value is not a new credential.
            await credentials.readFiles()
            lines.record("new")
            await credentials.readFiles()
            let settled = try await fixture.settled(id)
            #expect(settled.state == .confirmed)
            let writes = fixture.upstream.asked.all.filter { $0.method == "PUT" }
            let sent = writes.map { $0.origin.headers["Authorization"] }
            #expect(sent == ["old", "new"])
        }
    }

    @Test("Reads and writes carry the credential of their own account only (case 30)")
    func accounts() async throws {
        let read = try fixture.url("/r")
        let (mine, works) = (try fixture.url("/mine"), try fixture.url("/works"))
        try await set("mine")
        try await set("works", as: work, header: "X-Session")
        fixture.upstream.answer(read, with: .json("[1]"), .json("[2]"), .json("[3]"))
        // The target of a confirmed write is read again.
        for url in [mine, works] {
            fixture.upstream.answer(url, with: .reply(status: 204), .json("[4]"))
        }
        let other = Scope.own(uid: 1_001, account: .default)
        for scope in [EngineFixture.scope, work, other] { try await fixture.fetch(read, as: scope) }
        #expect(sent("GET") == ["mine", nil, nil])
        #expect(sent("GET", "X-Session") == [nil, "works", nil])
        let first = try await fixture.write(.url(mine), .none, "PUT", id: "a")
        #expect(try await fixture.settled(first).state == .confirmed)
        let second = try await fixture.write(.url(works), .none, "PUT", id: "b", as: work)
        #expect(try await fixture.settled(second, fixture.key(work)).state == .confirmed)
        #expect(sent("PUT") == ["mine", nil])
        #expect(sent("PUT", "X-Session") == [nil, "works"])
        #expect(try await report().header == "Authorization")
        #expect(try await report(work).header == "X-Session")
        #expect(try await report(other).source == nil)
    }

    @Test("A credential at an origin that is no longer configured can be removed")
    func goneOrigin() async throws {
        try await set("mine")
        let (context, name) = (fixture.engine.context, try name)
        context.replaceOrigins(context.origins.without(name))
        let report = try await fixture.engine.credentials.remove(at: name, fixture.scope)
        #expect(report.account == "default" && report.source == nil)
        #expect(CredentialTable.stored(context.store, context.logger).isEmpty)
        let problem = await #expect(throws: Problem.self) {
            _ = try await fixture.engine.credentials.remove(at: name, fixture.scope)
        }
        #expect(problem?.kind == .noSuchOrigin)
    }

    @Test("A user's own credential comes before the origin's headers (case 23)")
    func order() async throws {
        let url = try fixture.url("/r")
        var settings = try #require(fixture.engine.context.origins.origin(of: url))
        settings.headers.append("Authorization", "everybody's")
        settings.headers.append("X-Client", "larder")
        let known = KnownOrigin(settings, from: .file("larder.yaml"))
        _ = try await fixture.engine.origins.reload { (replace) throws(Problem) in
            try replace([known])
        }
        #expect(try await report().source == .origin)
        try await set("mine")
        #expect(try await report().source == .user)
        fixture.upstream.answer(url, with: .json("[1]"), .json("[2]"))
        try await fixture.fetch(url, .networkOnly)
        _ = try await fixture.engine.credentials.remove(at: name, fixture.scope)
        try await fixture.fetch(url, .networkOnly)
        #expect(sent("GET") == ["mine", "everybody's"])
        #expect(sent("GET", "X-Client") == ["larder", "larder"])
    }

    @Test("The configured credential is for its users' default accounts, and a change wakes writes")
    func configured() async throws {
        let (read, write) = (try fixture.url("/r"), try fixture.url("/w"))
        var settings = try #require(fixture.engine.context.origins.origin(of: read))
        settings.headers.append("Authorization", "everybody's")
        var credential = OriginCredential()
        credential.users = [.init(name: "ada", uid: 1_000), .init(name: "gone", uid: nil)]
        func configure(_ value: String) async throws {
            credential.value = value
            settings.credential = credential
            let known = KnownOrigin(settings, from: .file("larder.yaml"))
            _ = try await fixture.engine.origins.reload { (replace) throws(Problem) in
                try replace([known])
            }
        }
        try await configure("configured")
        #expect(!"\(credential)".contains("configured"))
        fixture.upstream.answer(read, with: .json("[1]"), .json("[2]"), .json("[3]"), .json("[4]"))
        for scope in [EngineFixture.scope, work, .own(uid: 1_001, account: .default)] {
            try await fixture.fetch(read, .networkOnly, as: scope)
        }
        #expect(sent("GET") == ["configured", "everybody's", "everybody's"])
        #expect(try await report().source == .configuration)
        #expect(try await report(work).source == .origin)
        try await set("mine")
        try await fixture.fetch(read, .networkOnly)
        #expect(sent("GET").last == "mine")
        _ = try await fixture.engine.credentials.remove(at: name, fixture.scope)
        fixture.upstream.answer(write, with: .reply(status: 401), .reply(status: 204))
        let watch = try await Watch(fixture) { $0.types = [.auth] }
        let id = try await fixture.write(.url(write), .none, "PUT")
        #expect(try await watch.frames(upTo: 2).map(\.name) == ["bookmark", "auth needed"])
        #expect(try await report().refused)
        try await configure("changed")
        #expect(try await fixture.settled(id).state == .confirmed)
        #expect(sent("PUT") == ["configured", "changed"])
        #expect(try await report().refused == false)
    }

    @Test("A write that was accepted under a credential is not sent without one (case 23)")
    func removed() async throws {
        let url = try fixture.url("/w")
        fixture.upstream.answer(url, with: .reply(status: 204))
        try await set("mine")
        try await fixture.engine.modifiers.setLane(
            .name(LaneName("slow")),
            fixture.scope,
            isPaused: true
        )
        let id = try await fixture.write(.url(url), .none, "PUT") {
            $0.lane = try LaneName("slow")
        }
        let removed = try await fixture.engine.credentials.remove(at: name, fixture.scope)
        #expect(removed.waiting == 1)
        #expect(removed.source == nil)
        let watch = try await Watch(fixture) { $0.types = [.auth] }
        try await fixture.engine.modifiers.setLane(
            .name(LaneName("slow")),
            fixture.scope,
            isPaused: false
        )
        #expect(try await watch.frames(upTo: 2).map(\.name) == ["bookmark", "auth needed"])
        #expect(sent("PUT").isEmpty)
        var waiting = try await fixture.engine.modifiers.modifier(id, fixture.scope)
        // The queue hears of the written state a moment after the watch does.
        try await until {
            waiting = try await fixture.engine.modifiers.modifier(id, fixture.scope)
            return waiting.waitingFor != nil
        }
        #expect(waiting.state == .authWait)
        #expect(waiting.attempts == 0)
        #expect(waiting.waitingFor?.name == origin)
        #expect(try await report().refused)
        try await set("mine again")
        #expect(try await fixture.settled(id).state == .confirmed)
        #expect(sent("PUT") == ["mine again"])
    }

    @Test("Another header of the origin ends the refusal of the one before (case 23)")
    func otherHeader() async throws {
        let url = try fixture.url("/r")
        fixture.upstream.answer(url, with: .reply(status: 401))
        var settings = try #require(fixture.engine.context.origins.origin(of: url))
        for (token, isRefused) in [("old", true), ("new", false)] {
            settings.headers.set("Authorization", token)
            let known = KnownOrigin(settings, from: .file("larder.yaml"))
            _ = try await fixture.engine.origins.reload { (replace) throws(Problem) in
                try replace([known])
            }
            if isRefused { _ = try? await fixture.fetch(url) }
            #expect(try await report().refused == isRefused)
        }
    }

    @Test("A new credential sends what waited for it, one write first (case 23)")
    func renewed() async throws {
        let urls = try ["/1", "/2"].map { try fixture.url($0) }
        for url in urls {
            fixture.upstream.answer(url, with: .reply(status: 401), .reply(status: 204))
        }
        try await set("old")
        let watch = try await Watch(fixture) { $0.types = [.auth] }
        let first = try await fixture.write(.url(urls[0]), .none, "PUT", id: "a")
        let second = try await fixture.write(.url(urls[1]), .none, "PUT", id: "b")
        #expect(try await watch.frames(upTo: 2).map(\.name) == ["bookmark", "auth needed"])
        while try await report().waiting < 2 { await Task.yield() }
        for id in [first, second] {
            let waiting = try await fixture.engine.modifiers.modifier(id, fixture.scope)
            #expect(waiting.state == .authWait)
        }
        #expect(try await report().refused)
        try await set("new")
        #expect(try await fixture.settled(first).state == .confirmed)
        #expect(try await fixture.settled(second).state == .confirmed)
        #expect(sent("PUT") == ["old", "old", "new", "new"])
        #expect(try await report().refused == false)
    }

    @Test("A user's change does not wait for another user's")
    func turns() async throws {
        let other = CredentialName(.own(uid: 1_001, account: .default), at: try name)
        let (begun, end) = (Gate(), Gate())
        let slow = Task { [table = fixture.engine.context.credentials] in
            try await table.inTurn(of: other.scope.uid) { () async throws(Problem) in
                begun.open()
                try? await end.wait()
            }
        }
        try await begun.wait()
        try await set("mine")
        end.open()
        try await slow.value
    }

    @Test("A restart keeps the credential, and an origin that moved to another host gets none")
    func restart() async throws {
        let url = try fixture.url("/r")
        let stored = StoredCredential(
            CredentialName(EngineFixture.scope, at: try name),
            address: url.originText,
            Credential(header: "Authorization", value: "mine", setAt: fixture.clock.now())
        )
        try await set("mine")
        #expect(try fixture.engine.store.credentials() == [stored])
        #expect("\(stored)".contains("mine") == false)
        let table = CredentialTable(try fixture.engine.store.credentials())
        var moved = try #require(fixture.engine.context.origins.origin(of: url))
        #expect(table.current(of: EngineFixture.scope, at: moved)?.credential.value == "mine")
        moved.baseURL = try WebURL("https://elsewhere.example")
        #expect(table.current(of: EngineFixture.scope, at: moved) == nil)
        #expect(table.settings(of: moved, for: EngineFixture.scope).account == nil)
    }

    @Test("An account with a credential reads its own row, never the shared one (case 23)")
    func ownRow() async throws {
        let url = try fixture.url("/r")
        try await share(url)
        fixture.upstream.answer(url, with: .json("[1]"), .json("[2]"))
        try await fixture.fetch(url, as: work)
        #expect(try fixture.view(url, EngineFixture.scope) == "[1]")
        try await set("mine")
        #expect(try fixture.view(url, EngineFixture.scope) == nil)
        #expect(try await fixture.fetch(url, .cacheFirst).lastShown?.text == "[2]")
        #expect(try fixture.view(url, EngineFixture.scope) == "[2]")
        #expect(try fixture.view(url, work) == "[1]")
    }

    @Test("After a login, the pin of a shared row waits for the account's own answer (case 23)")
    func sharedPin() async throws {
        let url = try fixture.url("/r")
        try await share(url)
        fixture.upstream.answer(url, with: .json("[1]"))
        try await fixture.fetch(url, as: work)
        var state: LarderAPI.PinState? = try await fixture.pin(url).item.state
        #expect(state == .held)
        let gate = Gate()
        fixture.upstream.answer(url, with: .json("[3]").held(by: gate), .json("[2]"))
        try await set("mine")
        let asked = try await fixture.upstream.held.element(0)
        #expect(asked.origin.headers["Authorization"] == "mine")
        state = try await pinState(of: url)
        #expect(state == .waiting)
        try await fixture.fetch(url, .networkOnly, as: work)
        #expect(try fixture.view(url, work) == "[2]")
        state = try await pinState(of: url)
        #expect(state == .waiting, "the answer for all users is not the account's own")
        gate.open()
        let id = try EntryID(url)
        _ = try await fixture.engine.pins.pin(id, fixture.scope, wait: .seconds(3_000))
        state = try await pinState(of: url)
        #expect(state == .held)
        #expect(try fixture.view(url, EngineFixture.scope) == "[3]")
    }

    @Test("After a logout without a network, the shared row holds the pin again (case 23)")
    func sharedPinAfterLogout() async throws {
        let url = try fixture.url("/r")
        try await share(url)
        fixture.upstream.answer(url, with: .json("[1]"))
        try await fixture.fetch(url, as: work)
        _ = try await fixture.pin(url)
        fixture.upstream.answerOthers { _ in .failure(.cancelled) }
        try await set("mine")
        _ = try await fixture.upstream.asked.element(1)
        var state = try await pinState(of: url)
        #expect(state == .waiting)
        _ = try await fixture.engine.credentials.remove(at: name, fixture.scope)
        while state != .held {
            await Task.yield()
            state = try await pinState(of: url)
        }
        #expect(try fixture.view(url, EngineFixture.scope) == "[1]")
    }

    private func pinState(of url: WebURL) async throws -> LarderAPI.PinState? {
        let pins = try await fixture.engine.pins.list(PageQuery(), fixture.scope).items
        return pins.first { $0.id == url.text }?.state
    }

    /// Has the origin of a URL share its answers.
    private func share(_ url: WebURL) async throws {
        var settings = try #require(fixture.engine.context.origins.origin(of: url))
        settings.isShared = true
        let known = KnownOrigin(settings, from: .file("larder.yaml"))
        _ = try await fixture.engine.origins.reload { (replace) throws(Problem) in
            try replace([known])
        }
    }

    @Test("A modifier's header that may be a secret is refused, and the problem names the command")
    func secretHeader() async throws {
        try await set("mine", header: "X-Who")
        let settings = try #require(
            try? fixture.engine.context.origin(of: try fixture.url("/"), in: fixture.scope)
        )
        for header in ["X-Api-Key", "x-csrf-token", "X-Client-Secret", "x-who"] {
            var headers = HeaderFields()
            headers.append(header, "s3cret")
            for (scope, option) in [(EngineFixture.scope, ""), (work, " --account work")] {
                let problem = #expect(throws: Problem.self) {
                    try settings.refuseSecret(in: headers, of: scope)
                }
                let command = "cachectl origin login example\(option)"
                #expect(problem?.hint.hasSuffix(": \(command)") == true)
                #expect(problem?.detail.contains("s3cret") == false)
            }
        }
        var headers = HeaderFields()
        headers.append("Idempotency-Key", "1")
        try settings.refuseSecret(in: headers, of: EngineFixture.scope)
    }

    @Test("The status names the origin and the account whose credential is refused (case 23)")
    func loginOfAccount() async throws {
        for (scope, path) in [(EngineFixture.scope, "/mine"), (work, "/works")] {
            let url = try fixture.url(path)
            fixture.upstream.answer(url, with: .reply("who?", status: 401))
            let id = try await fixture.write(.url(url), .put(.null), "PUT", as: scope)
            let key = fixture.key(scope)
            try await until {
                try await fixture.engine.modifiers.modifier(id, key).state == .authWait
            }
        }
        let status = await fixture.engine.monitor.status(connections: 0)
        let fix = try #require(status.findings.first?.fix)
        let login = "cachectl origin login example"
        #expect(fix.contains(": \(login), \(login) --account work    "))
    }

    @Test("A refused read names the command for the client's own account, also in a joined request")
    func loginOfRead() async throws {
        let (url, gate) = (try fixture.url("/r"), Gate())
        try await share(url)
        fixture.upstream.answer(url, with: .reply("who?", status: 401).held(by: gate))
        let mine = fixture.start(url)
        _ = try await fixture.upstream.asked.element(0)
        let works = fixture.start(url, as: work)
        while fixture.engine.context.meter.counts.flightsJoined == 0 { await Task.yield() }
        gate.open()
        for (fetch, option) in [(mine, ""), (works, " --account work")] {
            let refusal = try await fetch.result().refusal
            let command = "cachectl origin login example\(option)"
            #expect(refusal?.originStatus == 401)
            #expect(refusal?.hint == "Give a credential with \(command), then ask again.")
        }
    }

    @Test("A value that no header can have is refused, without being repeated")
    func refusedValue() async throws {
        for value in ["", "two\nlines", " padded", String(repeating: "x", count: 16_385)] {
            let problem = await #expect(throws: Problem.self) { try await set(value) }
            #expect(problem?.kind == .badRequest)
            if !value.isEmpty { #expect(problem?.detail.contains(value) == false) }
        }
        for header in ["Host", "Idempotency-Key", "not a name", "Larder-Account"] {
            let problem = await #expect(throws: Problem.self) {
                try await set("s3cret", header: header)
            }
            #expect(problem?.detail.contains("s3cret") == false)
        }
        #expect(try fixture.engine.store.credentials().isEmpty)
    }

    @Test("A purge forgets the credentials of its user")
    func purged() async throws {
        try await set("mine")
        try await set("works", as: work)
        _ = try await fixture.engine.purge.run(.one(fixture.scope))
        #expect(try fixture.engine.store.credentials().map(\.name.scope) == [work])
        #expect(try await report().source == nil)
    }

    @Test("A purge forgets a credential that is being saved when it begins")
    func purgedWhileSaved() async throws {
        let stored = StoredCredential(
            CredentialName(EngineFixture.scope, at: try name),
            address: EngineFixture.firstURL.originText,
            Credential(header: "Authorization", value: "mine", setAt: fixture.clock.now())
        )
        let (begun, purged) = (Gate(), Flag())
        let saving = Task { [table = fixture.engine.context.credentials] in
            try await table.inTurn(of: stored.name.scope.uid) { () async throws(Problem) in
                begun.open()
                // A purge that does not wait for the turn ends meanwhile.
                for _ in 0..<50_000 where !purged.isUp { await Task.yield() }
                table.set(stored)
            }
        }
        try await begun.wait()
        _ = try await fixture.engine.purge.run(.one(fixture.scope))
        purged.raise()
        try await saving.value
        #expect(try await report().source == nil)
    }
}
