import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

/// Answers that came in a content coding, as the upstream hands them over.
@Suite("Coded answers", .timeLimit(.minutes(5)), .engine)
struct CodingTests {
    private let fixture = EngineFixture.running
    private let url = EngineFixture.firstURL

    private static let wait = Duration.seconds(3_600)
    private static let titled = #"{"type":"merge","value":{"title":"mine"}}"#
    private static let old = #"{"title":"old","done":false}"#

    /// An answer whose body the upstream has decoded.
    private func coded(_ body: String, etag: String, vary: String? = nil) -> ScriptedAnswer {
        var fields = HeaderFields()
        fields.append("Content-Type", "application/json")
        fields.append("ETag", etag)
        if let vary { fields.append("Vary", vary) }
        fields.mark(coding: "gzip")
        return ScriptedAnswer(.reply(status: 200, headers: fields, [.bytes(Array(body.utf8))]))
    }

    private var asked: [UpstreamRequest] { fixture.upstream.asked.all }
    private var writes: [UpstreamRequest] { asked.filter { $0.method != "GET" } }
    private var matches: [String?] { writes.map { $0.headers["If-Match"] } }

    private func tag(_ body: String) -> String {
        BodySummary(of: Array(body.utf8), isJSON: true).digest.entityTag
    }

    // MARK: Asking

    @Test("A read accepts codings, and with compression: false it accepts none (S48)")
    func accepted() async throws {
        try await fixture.cache(url, .json("[1]"))
        #expect(asked.map(\.acceptsCodings) == [true])
        try await EngineFixture.run(.with { $0.origin.fetch.compresses = false }) { fixture in
            try await fixture.cache(url, .json("[1]"))
            #expect(fixture.upstream.asked.all.map(\.acceptsCodings) == [false])
        }
    }

    @Test("A write accepts no coding (S48)")
    func write() async throws {
        try await fixture.cache(url, .json(Self.old))
        fixture.upstream.answer(url, with: .reply(status: 204))
        let id = try await fixture.write(.url(url), .json(Self.titled))
        #expect(try await fixture.settled(id, wait: Self.wait).state == .confirmed)
        #expect(writes.map(\.acceptsCodings) == [false])
    }

    @Test("A body that cannot be decoded is asked for once more, as plain bytes (S48)")
    func undecodable() async throws {
        try await fixture.cache(url, coded("[1]", etag: "\"1\""))
        let broken = UpstreamError.undecodable(reason: "its br stream is damaged")
        fixture.upstream.answer(
            url,
            with: .reply(pieces: [.bytes([0x5B]), .failure(broken)]),
            .json("[2]")
        )
        #expect(try await fixture.fetch(url).shape == ["cache", "network", "end network"])
        #expect(asked.map(\.acceptsCodings) == [true, true, false])
        #expect(asked.map { $0.headers["If-None-Match"] } == [nil, "\"1\"", nil])
    }

    @Test("A body that cannot be decoded twice is a bad answer (S48)")
    func undecodableTwice() async throws {
        let broken = ScriptedAnswer.reply(pieces: [.failure(.undecodable(reason: "x"))])
        fixture.upstream.answer(url, with: broken, broken)
        #expect(try await fixture.fetch(url).refusal?.kind == .badAnswer)
        #expect(asked.map(\.acceptsCodings) == [true, false])
    }

    @Test("A body that expands too much is a bad answer, which is not asked for again (S48)")
    func expandsTooMuch() async throws {
        try await fixture.cache(url, .json("[1]"))
        fixture.upstream.answer(url, with: .reply(pieces: [.failure(.expandsTooMuch)]))
        let shape = try await fixture.fetch(url).shape
        #expect(shape == ["cache", "problem bad-answer", "end error"])
        #expect(asked.count == 2)
    }

    // MARK: Validators

    @Test("A coded answer has an ETag of its plain bytes; the origin's is for revalidation (S50)")
    func validators() async throws {
        let body = #"{"a":1}"#
        try await fixture.cache(url, coded(body, etag: "W/\"1\""))
        let cached = try #require(try await fixture.cached(url).lastShown)
        #expect(cached.entry.etag == tag(body))
        fixture.upstream.answer(url, with: .reply(status: 304))
        let shape = try await fixture.fetch(url).shape
        #expect(shape == ["cache", "unchanged 304", "end unchanged"])
        #expect(asked.last?.headers["If-None-Match"] == "W/\"1\"")
        #expect(asked.last?.acceptsCodings == true)
        #expect(try await fixture.cached(url).lastShown?.entry.etag == tag(body))
    }

    @Test("The plain answer that follows a coded one has the origin's ETag (S50)")
    func plainAfterCoded() async throws {
        try await fixture.cache(url, coded("[1]", etag: "W/\"1\""))
        try await fixture.cache(url, .json("[1]", headers: ["ETag": "\"1\""]))
        #expect(try await fixture.cached(url).lastShown?.entry.etag == "\"1\"")
    }

    @Test("Vary: Accept-Encoding makes no variant, alone and in a list (S49)")
    func vary() async throws {
        for vary in ["Accept-Encoding", "accept-encoding, Accept-Language"] {
            fixture.upstream.answer(url, with: coded("[1]", etag: "\"1\"", vary: vary))
            let got = try await fixture.fetch(url, .networkOnly) {
                $0.headers.append("Accept-Language", "de")
            }
            let language = vary == "Accept-Encoding" ? "" : " accept-language=de"
            #expect(got.lastShown?.entry.id == url.text + language)
        }
    }

    // MARK: Writes

    @Test("A write of a coded row asks for plain bytes, and sends their ETag (S50)")
    func ifMatch() async throws {
        for etag in ["W/\"1\"", "\"1-gzip\""] {
            try await EngineFixture.run { fixture in
                try await fixture.cache(url, coded(Self.old, etag: etag))
                fixture.upstream.answer(
                    url,
                    with: .json(Self.old, headers: ["ETag": "\"1\""]),
                    .reply(status: 204)
                )
                let id = try await fixture.write(.url(url), .json(Self.titled))
                #expect(try await fixture.settled(id, wait: Self.wait).state == .confirmed)
                let asked = fixture.upstream.asked.all.prefix(3)
                #expect(asked.map(\.acceptsCodings) == [true, false, false])
                #expect(asked.map { $0.headers["If-None-Match"] } == [nil, nil, nil])
                #expect(asked.last?.headers["If-Match"] == "\"1\"")
            }
        }
    }

    @Test("A coded answer that comes after the plain one leaves the If-Match of a write (S50)")
    func codedMeanwhile() async throws {
        let gate = Gate()
        try await fixture.cache(url, coded(Self.old, etag: "W/\"1\""))
        fixture.upstream.answer(
            url,
            with: .json(Self.old, headers: ["ETag": "\"1\""]).held(by: gate),
            coded(Self.old, etag: "W/\"1\""),
            .reply(status: 204)
        )
        let id = try await fixture.write(.url(url), .json(Self.titled))
        _ = try await fixture.upstream.asked.element(1)
        // The request of this answer left later, so the row is of it.
        try await fixture.fetch(url, .networkOnly) { $0.headers.append("Accept-Language", "de") }
        gate.open()
        #expect(try await fixture.settled(id, wait: Self.wait).state == .confirmed)
        #expect(matches == ["\"1\""])
    }

    @Test("A write of a coded row that another device has changed is a conflict (S50)")
    func conflict() async throws {
        try await fixture.cache(url, coded(Self.old, etag: "W/\"1\""))
        let theirs = #"{"title":"theirs","done":false}"#
        fixture.upstream.answer(url, with: .json(theirs, headers: ["ETag": "\"2\""]))
        let id = try await fixture.write(.url(url), .json(Self.titled))
        try await until {
            try await fixture.engine.modifiers.modifier(id, fixture.scope).state == .conflict
        }
        #expect(writes.isEmpty)
    }

    @Test("Without a strong ETag of the plain bytes no If-Match is sent (S50)")
    func noStrongTag() async throws {
        try await fixture.cache(url, coded(Self.old, etag: "W/\"1\""))
        // The origin compresses although it was asked not to.
        fixture.upstream.answer(
            url,
            with: coded(Self.old, etag: "\"1-gzip\""),
            .reply(status: 204)
        )
        let id = try await fixture.write(.url(url), .json(Self.titled))
        #expect(try await fixture.settled(id, wait: Self.wait).state == .confirmed)
        #expect(matches == [nil])
    }

    @Test("`if_match: none` and a coded row without an ETag need no read (S50)")
    func noRead() async throws {
        try await fixture.cache(url, coded(Self.old, etag: "W/\"1\""))
        fixture.upstream.answer(url, with: .reply(status: 204))
        let id = try await fixture.write(.url(url), .json(Self.titled)) {
            $0.ifMatch = ModifierRules.MatchRule.none
        }
        #expect(try await fixture.settled(id, wait: Self.wait).state == .confirmed)
        #expect(asked.prefix(2).map(\.method) == ["GET", writes.first?.method])
    }
}
