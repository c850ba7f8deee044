import LarderAPI
import LarderModel
import LarderStrategy
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

/// Repetitions, what an origin's failures tell of it, portals and redirects.
@Suite(.timeLimit(.minutes(5)), .engine)
struct RetryTests {
    private let fixture = EngineFixture.running
    private let url = EngineFixture.firstURL
    private let gate = Gate()

    @Test("A failed connection is repeated twice, each time after a pause by a random number")
    func jitter() async throws {
        fixture.upstream.answer(url, with: .unreachable, .unreachable, .json("[1]"))
        let fetch = fixture.start(url)
        let first = Limits.retryBase * fixture.randomUnit(0)
        try await fixture.clock.sleepers(until: first)
        fixture.clock.advance(by: first)
        let second = Limits.retryBase * 2 * fixture.randomUnit(1)
        try await fixture.clock.sleepers(until: first + second)
        fixture.clock.advance(by: second)
        #expect(try await fetch.result().shape == ["network", "end network"])
        #expect(fixture.upstream.asked.all.count == 3)
    }

    @Test("Retry-After is waited for where it is longer than the random pause")
    func retryAfter() async throws {
        fixture.upstream.answer(
            url,
            with: .reply(status: 503, headers: ["Retry-After": "3"]),
            .json("[1]")
        )
        let fetch = fixture.start(url)
        try await fixture.clock.sleepers(until: .seconds(3))
        fixture.clock.advance(by: .seconds(3))
        #expect(try await fetch.result().shape == ["network", "end network"])
    }

    @Test(
        "A Retry-After that is too long, or a status not worth repeating, is reported directly",
        arguments: [
            ScriptedAnswer.reply("no", status: 503, headers: ["Retry-After": "60"]),
            .reply("no", status: 500), .reply("no", status: 429),
        ]
    )
    func reportedAtOnce(answer: ScriptedAnswer) async throws {
        fixture.upstream.answer(url, with: answer)
        let refusal = try await fixture.fetch(url).refusal
        #expect(refusal?.kind == .originStatus)
        #expect(refusal?.retryable == (refusal?.originStatus != 429))
        #expect(refusal?.quotedBody == Array("no".utf8))
        #expect(fixture.upstream.asked.all.count == 1)
        #expect(await fixture.originState == .online)
    }

    @Test("A refusal's body is quoted up to 64 KiB")
    func longRefusal() async throws {
        let piece = [UInt8](repeating: 0x78, count: 50_000)
        fixture.upstream.answer(
            url,
            with: .reply(pieces: [.bytes(piece), .bytes(piece), .bytes(piece)], 400)
        )
        let refusal = try await fixture.fetch(url).refusal
        #expect(refusal?.quotedBody == [UInt8](repeating: 0x78, count: 65_536))
    }

    @Test(
        "No pause reaches past the deadline",
        .engine { $0.origin.fetch.timeout = .milliseconds(1) }
    )
    func deadline() async throws {
        fixture.upstream.answer(url, with: .unreachable)
        #expect(try await fixture.fetch(url).refusal?.kind == .unreachable)
    }

    @Test("An offline origin is asked once, and its cached answer is not held back")
    func offline() async throws {
        try await fixture.cache(url, .json("[1]"))
        try await fixture.goOffline()
        let asked = fixture.upstream.asked.all.count
        fixture.upstream.answer(url, with: ScriptedAnswer.unreachable.held(by: gate))
        let fetch = fixture.start(url, .networkFirst)
        // No time passes: network_wait is not waited for.
        _ = try await fetch.frames.element(0)
        gate.open()
        #expect(try await fetch.result().shape == ["cache", "problem unreachable", "end error"])
        #expect(fixture.upstream.asked.all.count == asked + 1)
    }

    @Test("An offline origin that answers is online again, and network-first holds back again")
    func comingBack() async throws {
        try await fixture.cache(url, .json("[1]"))
        try await fixture.goOffline()
        #expect(await fixture.originState == .offline)
        fixture.upstream.answer(url, with: .json("[2]").held(by: gate), .json("[3]"))
        let fetch = fixture.start(url, .networkFirst)
        _ = try await fetch.frames.element(0)
        gate.open()
        #expect(try await fetch.result().shape == ["cache", "network", "end network"])
        #expect(await fixture.originState == .online)
        let next = try await fixture.fetch(url, .networkFirst)
        #expect(next.shape == ["network", "end network"])
    }

    @Test("Ten seconds without an answer mark the origin offline, and the request goes on")
    func silence() async throws {
        fixture.upstream.answer(url, with: .json("[1]").held(by: gate))
        let fetch = fixture.start(url)
        try await fixture.clock.sleepers(until: .seconds(10))
        fixture.clock.advance(by: .seconds(10))
        let line = "an origin's state changed origin=example state=offline"
        #expect(try await fixture.log.lines.element(0) == line)
        gate.open()
        #expect(try await fetch.result().shape == ["network", "end network"])
        #expect(await fixture.originState == .online)
    }

    @Test(
        "A captive portal's answer is not taken for the origin's, nor stored",
        arguments: [
            ScriptedAnswer.reply("<html>", headers: ["Content-Type": "text/html"]),
            .reply("sign in", status: 511),
        ]
    )
    func captive(answer: ScriptedAnswer) async throws {
        let base = try WebURL("http://plain.example/api")
        let origin = OriginSettings(name: try OriginName("plain"), baseURL: base)
        try await EngineFixture.run(.with { $0.origin = origin }) { fixture in
            let url = try WebURL("http://plain.example/api/a")
            try await fixture.cache(url, .json("[1]"))
            // Whatever the daemon asks to know whether it is this URL's own way.
            fixture.upstream.answerOthers { _ in answer }
            let got = try await fixture.fetch(url)
            #expect(got.shape == ["cache", "problem captive", "end error"])
            #expect(await fixture.originState == .captive)
            #expect(try await fixture.cached(url).frames[0].shown == got.frames[0].shown)
        }
    }

    @Test(
        "A page where JSON is expected is no portal's over https, nor where others are answered",
        arguments: ["https", "http"]
    )
    func ownPage(scheme: String) async throws {
        let base = try WebURL("\(scheme)://own.example/api")
        let origin = OriginSettings(name: try OriginName("own"), baseURL: base)
        try await EngineFixture.run(.with { $0.origin = origin }) { fixture in
            let url = try WebURL("\(scheme)://own.example/api/a")
            try await fixture.cache(url, .json("[1]"))
            let page = ScriptedAnswer.reply("<html>", headers: ["Content-Type": "text/html"])
            fixture.upstream.answer(url, with: page)
            fixture.upstream.answerOthers { _ in .reply("no", status: 404) }
            let shape = try await fixture.fetch(url).shape
            #expect(shape == ["cache", "problem bad-answer", "end error"])
            #expect(await fixture.originState == .online)
            let others = fixture.upstream.asked.all.map(\.url).filter { $0 != url }
            #expect(others.count == (scheme == "http" ? 1 : 0))
            #expect(others.allSatisfy { $0.path.hasPrefix("/api/larder-") })
        }
    }

    @Test("A redirect to the same host is followed, and the answer is kept under the first URL")
    func redirect() async throws {
        let target = try fixture.url("/b?c")
        fixture.upstream.answer(url, with: .reply(status: 302, headers: ["Location": "/b?c"]))
        fixture.upstream.answer(target, with: .json("[1]"))
        #expect(try await fixture.fetch(url).shape == ["network", "end network"])
        #expect(fixture.upstream.asked.all.map(\.url) == [url, target])
        #expect(try await fixture.cached(url).shape == ["cache", "end cache"])
        #expect(try await fixture.cached(target).refusal?.kind == .miss)
    }

    @Test("An answer is no fresher than the redirect to it, nor is a 304")
    func redirectLifetime() async throws {
        let target = try fixture.url("/b")
        let moved = ["Location": "/b", "Cache-Control": "max-age=60"]
        let year = ["Cache-Control": "max-age=31536000, immutable", "ETag": "\"v1\""]
        fixture.upstream.answer(url, with: .reply(status: 302, headers: moved))
        fixture.upstream.answer(target, with: .json("[1]", headers: year))
        #expect(try await fixture.fetch(url).lastShown?.stale == false)
        fixture.clock.advance(by: .seconds(60))
        #expect(try await fixture.cached(url).lastShown?.stale == true)
        fixture.upstream.answer(url, with: .reply(status: 302, headers: ["Location": "/b"]))
        fixture.upstream.answer(target, with: .reply(status: 304, headers: year))
        _ = try await fixture.fetch(url)
        #expect(try await fixture.cached(url).lastShown?.stale == true)
    }

    @Test("Validators of an answer after a redirect go to no other URL")
    func redirectValidators() async throws {
        let (target, other) = (try fixture.url("/b"), try fixture.url("/c"))
        let tagged = ["ETag": "\"v1\"", "Larder-Source": "https://api.example.com/forged"]
        fixture.upstream.answer(url, with: .reply(status: 302, headers: ["Location": "/b"]))
        fixture.upstream.answer(target, with: .json("[1]", headers: tagged))
        try await fixture.fetch(url)
        fixture.upstream.answer(url, with: .reply(status: 302, headers: ["Location": "/b"]))
        fixture.upstream.answer(target, with: .notModified)
        #expect(try await fixture.fetch(url).shape == ["cache", "unchanged 304", "end unchanged"])
        // The daemon's own field with the URL is no field of the origin.
        #expect(try await fixture.explain(url)?.headers.isEmpty == true)
        fixture.upstream.answer(url, with: .reply(status: 302, headers: ["Location": "/c"]))
        fixture.upstream.answer(other, with: .json("[2]", headers: tagged))
        #expect(try await fixture.fetch(url).lastShown?.text == "[2]")
        fixture.upstream.answer(url, with: .json("[3]", headers: tagged))
        #expect(try await fixture.fetch(url).lastShown?.text == "[3]")
        fixture.upstream.answer(url, with: .notModified)
        #expect(try await fixture.fetch(url).shape == ["cache", "unchanged 304", "end unchanged"])
        let tags = fixture.upstream.asked.all.map { $0.headers["If-None-Match"] }
        #expect(tags == [nil, nil, nil, "\"v1\"", nil, nil, nil, "\"v1\""])
    }

    @Test("A large answer after a redirect with no-store is stored, and is stale immediately")
    func redirectNoStore() async throws {
        let moved = ["Location": "/b", "Cache-Control": "no-store"]
        let body = ScriptedAnswer.Piece.bytes([UInt8](repeating: 0x20, count: 1_100_000))
        fixture.upstream.answer(url, with: .reply(status: 302, headers: moved))
        fixture.upstream.answer(
            try fixture.url("/b"),
            with: .reply(pieces: [body], 200, ["Cache-Control": "max-age=60"])
        )
        #expect(try await fixture.fetch(url).shape == ["network", "end network"])
        #expect(try await fixture.cached(url).lastShown?.stale == true)
    }

    @Test("A redirect to another host is refused with its name")
    func redirectElsewhere() async throws {
        fixture.upstream.answer(
            url,
            with: .reply(status: 301, headers: ["Location": "https://other.example/"])
        )
        let refusal = Problem(FlightFailure.redirectRefused(host: "other.example"), url: url)
        #expect(try await fixture.fetch(url) == .refused(refusal))
    }

    @Test("The problem of an address that a local proxy made up names the proxy")
    func localProxy() async throws {
        for (address, isOfProxy) in [("198.18.0.7", true), ("10.0.0.1", false)] {
            let failure = UpstreamError.addressRefused(host: url.host, address: address)
            fixture.upstream.answer(url, with: .failure(failure))
            let told = try await fixture.fetch(url).refusal
            let refusal = try #require(told)
            #expect(refusal.kind == .addressRefused)
            #expect(refusal.hint.contains("proxy") == isOfProxy)
            #expect(refusal.hint.contains("--allow-private"))
        }
    }

    @Test("The problem of a certificate names where its root goes, and the portal that may have it")
    func certificates() {
        for (cause, namesRoot, namesPortal) in [
            ("its certificate is not trusted, or its time is over", true, true),
            ("its certificate is another host's", false, true),
            ("it does not speak TLS", false, false),
        ] {
            let problem = Problem(FlightFailure.unreachable("TLS failed: \(cause)"), url: url)
            #expect(problem.detail.contains(cause))
            #expect(problem.hint.contains("tls.ca_file") == namesRoot)
            #expect(problem.hint.contains("captive portal") == namesPortal)
        }
    }

    @Test("A redirect over plain http to another host is a portal's")
    func redirectOverPlainHTTP() async throws {
        let base = try WebURL("http://plain.example")
        let origin = OriginSettings(name: try OriginName("plain"), baseURL: base)
        try await EngineFixture.run(.with { $0.origin = origin }) { fixture in
            let url = try WebURL("http://plain.example/a")
            fixture.upstream.answer(
                url,
                with: .reply(status: 302, headers: ["Location": "http://portal.example/"])
            )
            let portal = ScriptedAnswer.reply(
                "",
                status: 302,
                headers: ["Location": "http://p.example/"]
            )
            fixture.upstream.answer(try WebURL("http://plain.example/"), with: portal)
            #expect(try await fixture.fetch(url).refusal?.kind == .captive)
            #expect(await fixture.originState == .captive)
        }
    }

    @Test("Redirects in a circle come to an end")
    func redirectLoop() async throws {
        let again = ScriptedAnswer.reply(status: 302, headers: ["Location": "/a"])
        fixture.upstream.answer(url, with: again, again, again, again, again, again)
        #expect(try await fixture.fetch(url).refusal?.kind == .badAnswer)
        #expect(fixture.upstream.asked.all.count == Limits.redirectsMax + 1)
    }
}

extension EngineFixture {
    /// What is known of the one origin.
    var originState: LarderAPI.OriginState? {
        get async { await engine.monitor.status(connections: 0).origins.first?.condition.state }
    }

    /// Has a fetch fail to connect until it gives up.
    func goOffline() async throws {
        let begun = clock.monotonic()
        let drawn = upstream.asked.all.count
        let fetch = start(try url("/unreachable"))
        let first = Limits.retryBase * randomUnit(drawn)
        try await clock.sleepers(until: begun + first)
        clock.advance(by: first)
        let second = Limits.retryBase * 2 * randomUnit(drawn + 1)
        try await clock.sleepers(until: begun + first + second)
        clock.advance(by: second)
        _ = try await fetch.result()
    }
}
