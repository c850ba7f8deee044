import LarderAPI
import LarderModel
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

/// How long an answer is fresh, by the clock, and what of its head is kept.
@Suite(.timeLimit(.minutes(5)), .engine)
struct KeepingTests {
    private let fixture = EngineFixture.running
    private let url = EngineFixture.firstURL

    private static let minute = ["Cache-Control": "max-age=60"]

    @Test(
        "An answer is fresh until its max-age is over, or the origin's ttl where there is one",
        arguments: [nil, 120]
    )
    func lifetime(ttl: Int?) async throws {
        let setup = try EngineSetup.with { $0.origin.fetch.ttl = ttl.map { Duration.seconds($0) } }
        try await EngineFixture.run(setup) { fixture in
            let lifetime = Duration.seconds(ttl ?? 60)
            try await fixture.cache(url, .json("[1]", headers: Self.minute))
            fixture.clock.advance(by: lifetime - .milliseconds(1))
            #expect(try await fixture.cached(url).lastShown?.stale == false)
            fixture.clock.advance(by: .milliseconds(1))
            let shown = try await fixture.cached(url).lastShown
            #expect(shown?.stale == true)
            #expect(shown?.ageMs == lifetime.milliseconds)
        }
    }

    @Test("A 201, 202 or 205 to a read is told and replaces no answer", arguments: [201, 202, 205])
    func unfinished(status: Int) async throws {
        fixture.upstream.answer(url, with: .reply("wait", status: status))
        let first = try await fixture.fetch(url)
        #expect(first.shape == ["network", "end network"])
        #expect(first.lastShown?.entry.status == status)
        #expect(try await fixture.cached(url).refusal?.kind == .miss)
        try await fixture.cache(url, .json("[1]", headers: Self.minute))
        fixture.upstream.answer(url, with: .reply("wait", status: status))
        let second = try await fixture.fetch(url)
        #expect(second.shape == ["cache", "network", "end network"])
        #expect(second.lastShown?.entry.status == status)
        let kept = try await fixture.cached(url).lastShown
        #expect(kept?.text == "[1]")
        #expect(kept?.stale == false)
    }

    @Test("A 304 makes an entry fresh for its whole lifetime, whatever Age it first came with")
    func confirmedFreshness() async throws {
        let headers = ["Cache-Control": "max-age=60", "Age": "50", "ETag": "\"v1\""]
        try await fixture.cache(url, .json("[1]", headers: headers))
        fixture.clock.advance(by: .seconds(10))
        #expect(try await fixture.cached(url).lastShown?.stale == true)
        try await fixture.cache(url, .reply(status: 304, headers: ["X-New": "1"]))
        fixture.clock.advance(by: .seconds(59))
        let shown = try await fixture.cached(url).lastShown
        #expect(shown?.stale == false)
        #expect(shown?.ageMs == 59_000)
        let explained = try await fixture.explain(url)
        let kept = explained?.headers.map { "\($0.name): \($0.value)" }.sorted()
        #expect(kept == ["Cache-Control: max-age=60", "X-New: 1"])
    }

    @Test("A 304 changes no field that describes the stored bytes (RFC 9111 3.2)")
    func describedBytes() async throws {
        let headers = ["ETag": "\"v1\"", "X-Kept": "1"]
        try await fixture.cache(url, .json("[1]", headers: headers))
        let describing = [
            "Content-Encoding": "gzip", "Content-Range": "bytes 0-1/3",
            "Content-Length": "99", "Content-Type": "text/plain", "X-Kept": "2",
        ]
        try await fixture.cache(url, .reply(status: 304, headers: describing))
        let kept = try #require(try await fixture.explain(url))
        #expect(kept.item.mediaType == "application/json")
        #expect(kept.headers.map { "\($0.name): \($0.value)" } == ["X-Kept: 2"])
    }

    @Test("Header fields of the connection or of one client are not kept")
    func keptHeaders() async throws {
        try await fixture.cache(
            url,
            .json(
                "[1]",
                headers: [
                    "Connection": "close, X-Hop", "X-Hop": "1", "Keep-Alive": "timeout=5",
                    "Transfer-Encoding": "chunked", "Set-Cookie": "secret",
                    "Content-Length": "3", "ETag": "\"v1\"", "X-Kept": "2",
                    "Last-Modified": "Tue, 14 Nov 2023 22:13:20 GMT",
                ]
            )
        )
        let explained = try await fixture.explain(url)
        #expect(explained?.headers.map { "\($0.name): \($0.value)" } == ["X-Kept: 2"])
        #expect(explained?.lastModified == "Tue, 14 Nov 2023 22:13:20 GMT")
        #expect(explained?.item.etag == "\"v1\"")
    }

    @Test("Both validators are sent, and the client's headers with them")
    func validators() async throws {
        let date = "Tue, 14 Nov 2023 22:13:20 GMT"
        try await fixture.cache(
            url,
            .json("[1]", headers: ["ETag": "\"v1\"", "Last-Modified": date])
        )
        fixture.upstream.answer(url, with: .notModified)
        let got = try await fixture.fetch(url) { $0.headers.append("X-Trace", "7") }
        #expect(got.shape == ["cache", "unchanged 304", "end unchanged"])
        var expected = HeaderFields()
        expected.append("X-Trace", "7")
        expected.append("If-None-Match", "\"v1\"")
        expected.append("If-Modified-Since", date)
        #expect(fixture.upstream.asked.all.last?.headers == expected)
    }

    @Test("An ETag without a value is none, so the date alone is the condition")
    func emptyTag() async throws {
        let date = "Tue, 14 Nov 2023 22:13:20 GMT"
        try await fixture.cache(url, .json("[1]", headers: ["ETag": "", "Last-Modified": date]))
        fixture.upstream.answer(url, with: .notModified)
        let got = try await fixture.fetch(url)
        #expect(got.shape == ["cache", "unchanged 304", "end unchanged"])
        var expected = HeaderFields()
        expected.append("If-Modified-Since", date)
        #expect(fixture.upstream.asked.all.last?.headers == expected)
    }

    // MARK: Vary

    @Test("Answers that vary by a header are kept apart and found again by it")
    func variants() async throws {
        for language in ["de", "en"] {
            fixture.upstream.answer(
                url,
                with: .json("\"\(language)\"", headers: ["Vary": "Accept-Language"])
            )
            let got = try await fixture.fetch(url) { command in
                command.headers.append("accept-language", language)
            }
            let id = "https://api.example.com/a accept-language=\(language)"
            #expect(got.shape == ["network", "end network"])
            #expect(got.lastShown?.entry.id == id)
        }
        for language in ["de", "en"] {
            let shown = try await fixture.fetch(url, .cacheOnly) { command in
                command.headers.append("Accept-Language", language)
            }.lastShown
            #expect(shown?.entry.content == .json(Array("\"\(language)\"".utf8)))
        }
        #expect(try await fixture.cached(url).refusal?.kind == .miss)
    }

    @Test("An answer to a request without the header is not one to a request with it")
    func variantWithoutHeader() async throws {
        try await fixture.cache(url, .json("[1]", headers: ["Vary": "Accept-Language"]))
        #expect(try await fixture.cached(url).shape == ["cache", "end cache"])
        let other = try await fixture.fetch(url, .cacheOnly) { command in
            command.headers.append("Accept-Language", "de")
        }
        #expect(other.refusal?.kind == .miss)
    }

    @Test(
        "A credential in Vary is in the id as a hash only, and finds its answer again",
        arguments: ["Authorization", "Cookie", "X-Api-Key", "x-auth-token", "Client-Secret"]
    )
    func secretVariants(name: String) async throws {
        let answer = { ScriptedAnswer.json($0, headers: ["Vary": "Accept, \(name)"]) }
        var ids: [String] = []
        for secret in ["Bearer one", "Bearer two"] {
            fixture.upstream.answer(url, with: answer("\"\(secret.count) \(secret.last ?? " ")\""))
            let got = try await fixture.fetch(url) { command in
                command.headers.append(name, secret)
                command.headers.append("Accept", "application/json")
            }
            ids.append(try #require(got.lastShown?.entry.id))
        }
        let start = "\(url) accept=application/json \(name.lowercased())="
        for id in ids {
            #expect(id.hasPrefix(start) && !id.contains("Bearer"))
            #expect(id.utf8.count == start.utf8.count + 32)
        }
        #expect(Set(ids).count == 2)
        let again = try await fixture.fetch(url, .cacheOnly) { command in
            command.headers.append(name, "Bearer one")
            command.headers.append("Accept", "application/json")
        }
        #expect(again.lastShown?.entry.id == ids[0])
        #expect(try await fixture.ids(EntryListQuery()) == ids.sorted())
    }

    @Test(
        "An answer with Vary: * is always stale, and is shown when the network fails",
        .engine { $0.origin.fetch.ttl = .seconds(3_600) }
    )
    func variesByAll() async throws {
        let headers = ["Vary": "*", "Cache-Control": "max-age=60", "ETag": "\"v1\""]
        fixture.upstream.answer(
            url,
            with: .json("[1]", headers: headers),
            .notModified,
            .json("[2]", headers: headers),
            .failure(.timedOut(.head))
        )
        #expect(try await fixture.fetch(url, .cacheFirst).shape == ["network", "end network"])
        for _ in 1...2 {
            #expect(try await fixture.fetch(url, .cacheFirst).shape.last == "end network")
        }
        let failed = try await fixture.fetch(url, .cacheFirst)
        #expect(failed.lastShown?.text == "[2]")
        #expect(failed.lastShown?.stale == true)
        #expect(fixture.upstream.asked.all.count == 4)
    }

    @Test("Each request carries only some of the headers, and each variant is found again")
    func partialVariants() async throws {
        let answer = ScriptedAnswer.json("[1]", headers: ["Vary": "Accept, Accept-Language"])
        let headers = [("Accept-Language", "de"), ("Accept", "application/json")]
        for (name, value) in headers {
            fixture.upstream.answer(url, with: answer)
            try await fixture.fetch(url) { $0.headers.append(name, value) }
        }
        for (name, value) in headers {
            let got = try await fixture.fetch(url, .cacheOnly) { command in
                command.headers.append(name, value)
            }
            #expect(got.shape == ["cache", "end cache"])
        }
    }
}

extension EngineFixture {
    func explain(_ url: WebURL) async throws -> EntryExplanation? {
        try await engine.entries.explain(EntryID(url), scope)
    }
}
