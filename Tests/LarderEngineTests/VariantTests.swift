import LarderJSON
import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

/// Writes to a URL of which only answers to certain headers are cached.
@Suite("Variants of what is written", .timeLimit(.minutes(5)), .engine)
struct VariantTests {
    private let fixture = EngineFixture.running

    private static let old = #"{"liked":false}"#
    private static let new = #"{"liked":true}"#
    private static let languages = ["de", "en"]

    private func answer(_ body: String) -> ScriptedAnswer {
        let headers = ["Vary": "Accept-Language", "Cache-Control": "max-age=60"]
        return .json(body, headers: headers)
    }

    private func id(_ language: String) throws -> EntryID {
        try EntryID(try fixture.url("/a").text + " accept-language=\(language)")
    }

    /// Has both variants in the cache.
    private func cache() async throws {
        let url = try fixture.url("/a")
        for language in Self.languages {
            fixture.upstream.answer(url, with: answer(Self.old))
            try await fixture.fetch(url) { $0.headers.append("Accept-Language", language) }
        }
    }

    private func shown(_ language: String) async throws -> SnapshotFrame? {
        try await fixture.fetch(try fixture.url("/a"), .cacheOnly) { command in
            command.headers.append("Accept-Language", language)
        }.lastShown
    }

    /// Writes to the URL; the request goes elsewhere, so that answers to reads stay apart.
    private func write(
        _ effect: String = #"{"type":"merge","value":{"liked":true}}"#
    ) async throws -> ModifierID {
        let (url, likes) = (try fixture.url("/a"), try fixture.url("/likes"))
        return try await fixture.write(.url(url), .json(effect), "PUT", to: likes, id: "m1")
    }

    /// Follows a variant; each view with how many writes it shows.
    private func follow(
        _ language: String,
        _ policy: FetchPolicy,
        _ shown: Recorder<String>
    ) throws -> ClientFetch {
        fixture.start(try fixture.url("/a"), policy) { command in
            command.follows = true
            command.headers.append("Accept-Language", language)
        } reading: { frame in
            switch frame {
            case .snapshot(let view): shown.record("\(view.text) \(view.pending)")
            case .deleted(let frame): shown.record("deleted \(frame.source)")
            case .unchanged, .problem, .origin, .heartbeat, .end, .other: break
            }
            return true
        }
    }

    @Test("An answer varies by the headers by which a redirect to it varies (RFC 9111 4.1)")
    func redirected() async throws {
        let url = try fixture.url("/a")
        for language in Self.languages {
            let place = try fixture.url("/\(language)")
            let headers = ["Location": place.text, "Vary": "Accept-Language"]
            fixture.upstream.answer(url, with: .reply(status: 302, headers: headers))
            fixture.upstream.answer(place, with: .json("[\"\(language)\"]"))
            try await fixture.fetch(url) { $0.headers.append("Accept-Language", language) }
        }
        for language in Self.languages {
            let frame = try await shown(language)
            #expect(frame?.text == "[\"\(language)\"]")
        }
    }

    @Test("A refused write is reverted in each variant, and watchers and followers hear it (P-04)")
    func refused() async throws {
        try await cache()
        let sent = Gate()
        fixture.upstream.answer(
            try fixture.url("/likes"),
            with: .reply("no", status: 422).held(by: sent)
        )
        let (de, en) = (try id("de"), try id("en"))
        let watch = try await Watch(fixture) { command in
            command.ids = [de]
            command.types = [.put]
        }
        let all = try await Watch(fixture) { $0.types = [.put] }
        let shown = Recorder<String>()
        _ = try follow("en", .cacheOnly, shown)
        #expect(try await shown.element(0) == "\(Self.old) 0")
        let m1 = try await write()
        #expect(try await shown.element(1) == "\(Self.new) 1")
        for language in Self.languages {
            let frame = try await self.shown(language)
            #expect(frame?.text == Self.new)
            #expect(frame?.pendingIDs == ["m1"])
        }
        _ = try await watch.frames(upTo: 2)
        _ = try await all.frames(upTo: 4)
        sent.open()
        #expect(try await fixture.settled(m1).state == .failed)
        #expect(try await shown.element(2) == "\(Self.old) 0")
        for language in Self.languages {
            let frame = try await self.shown(language)
            #expect(frame?.text == Self.old)
            #expect(frame?.failed == 1)
            #expect(frame?.stale == false)
        }
        let told = try await watch.frames(upTo: 3)
        #expect(told.map(\.name) == ["bookmark", "put \(de)", "put \(de)"])
        for frame in told.dropFirst() {
            guard case .put(let put) = frame else { continue }
            #expect(put.source == "modifier" && put.cause == "modifier:m1")
        }
        let names = try await all.frames(upTo: 6).map(\.name)
        #expect(names.count { $0 == "put \(de)" } == 2)
        #expect(names.count { $0 == "put \(en)" } == 2)
    }

    @Test("Confirmed, a write stays in each variant, which is stale and asked for by followers")
    func confirmed() async throws {
        try await cache()
        let (sent, read) = (Gate(), Gate())
        let (url, likes) = (try fixture.url("/a"), try fixture.url("/likes"))
        fixture.upstream.answer(likes, with: .reply(status: 204).held(by: sent))
        let shown = Recorder<String>()
        _ = try follow("en", .cacheFirst, shown)
        #expect(try await shown.element(0) == "\(Self.old) 0")
        let m1 = try await write()
        #expect(try await shown.element(1) == "\(Self.new) 1")
        let later = #"{"liked":true,"n":2}"#
        // The target's own answer, and the follower's.
        fixture.upstream.answer(
            url,
            with: answer(later).held(by: read),
            answer(later).held(by: read)
        )
        sent.open()
        #expect(try await fixture.settled(m1).state == .confirmed)
        for language in Self.languages {
            let frame = try await self.shown(language)
            #expect(frame?.text == Self.new)
            #expect(frame?.pending == 0)
            #expect(frame?.stale == true)
        }
        read.open()
        var count = 1
        repeat { count += 1 } while try await shown.element(count) != "\(later) 0"
        #expect(shown.all[2..<count].allSatisfy { $0 == "\(Self.new) 0" })
    }

    @Test("A write's deletion shows in each variant, and its refusal restores each")
    func deleted() async throws {
        try await cache()
        let sent = Gate()
        fixture.upstream.answer(
            try fixture.url("/likes"),
            with: .reply("no", status: 422).held(by: sent)
        )
        let de = try id("de")
        let watch = try await Watch(fixture) { command in
            command.ids = [de]
            command.types = [.put, .delete]
        }
        let shown = Recorder<String>()
        _ = try follow("de", .cacheOnly, shown)
        _ = try await shown.element(0)
        let m1 = try await write(#"{"type":"delete"}"#)
        #expect(try await shown.element(1) == "deleted modifier")
        _ = try await watch.frames(upTo: 2)
        sent.open()
        #expect(try await fixture.settled(m1).state == .failed)
        #expect(try await shown.element(2) == "\(Self.old) 0")
        let names = try await watch.frames(upTo: 3).map(\.name)
        #expect(names == ["bookmark", "delete \(de)", "put \(de)"])
    }

    @Test("A variant's answer that a confirmed write overtook does not undo it (P-06)")
    func overtaken() async throws {
        try await cache()
        let (url, read) = (try fixture.url("/a"), Gate())
        // What set out before; the target's own, and what is asked for in its place.
        fixture.upstream.answer(
            url,
            with: answer(Self.old).held(by: read),
            answer(Self.new),
            answer(Self.new)
        )
        let asked = fixture.upstream.asked.all.count
        let fetch = fixture.start(url, .networkOnly) { command in
            command.headers.append("Accept-Language", "de")
        }
        _ = try await fixture.upstream.asked.element(asked)
        fixture.upstream.answer(try fixture.url("/likes"), with: .reply(status: 204))
        let m1 = try await write()
        #expect(try await fixture.settled(m1).state == .confirmed)
        read.open()
        _ = try await fetch.result()
        #expect(try await shown("de")?.text == Self.new)
    }

    @Test("Once the origin's answers vary no more, the last answer shows, not the old variant")
    func variesNoMore() async throws {
        try await cache()
        let url = try fixture.url("/a")
        fixture.upstream.answer(url, with: .json(Self.new))
        try await fixture.fetch(url, .networkOnly) { $0.headers.append("Accept-Language", "de") }
        #expect(try await shown("de")?.text == Self.new)
    }

    @Test("An answer is found after a 304 whose Vary leaves a name out")
    func fewerNames() async throws {
        let url = try fixture.url("/a")
        let headers = ["Vary": "Accept-Language, Accept", "ETag": "\"v1\""]
        let confirmation = ScriptedAnswer.reply(status: 304, headers: ["Vary": "Accept"])
        fixture.upstream.answer(url, with: .json("[1]", headers: headers), confirmation)
        for _ in 0..<2 {
            try await fixture.fetch(url, .networkOnly) { command in
                command.headers.append("Accept-Language", "de")
            }
        }
        #expect(fixture.upstream.asked.all.last?.headers["If-None-Match"] == "\"v1\"")
        #expect(try await shown("de")?.text == "[1]")
    }

    @Test("A 304 that begins to vary by a header of the request is asked again for the answer")
    func beginsToVary() async throws {
        let url = try fixture.url("/a")
        let headers = ["Vary": "Accept-Language", "ETag": "\"v1\"", "Cache-Control": "max-age=60"]
        fixture.upstream.answer(
            url,
            with: .json("[1]", headers: ["ETag": "\"v1\""]),
            .reply(status: 304, headers: headers),
            .json("[1]", headers: headers)
        )
        for _ in 0..<2 {
            try await fixture.fetch(url, .networkOnly) { command in
                command.headers.append("Accept-Language", "de")
            }
        }
        #expect(try await shown("de")?.text == "[1]")
        #expect(try await shown("en")?.text == nil)
    }

    @Test("An answer stays findable if no whole answer follows a 304 that begins to vary")
    func beginsToVaryWithoutAnswer() async throws {
        let url = try fixture.url("/a")
        fixture.upstream.answer(
            url,
            with: .json("[1]", headers: ["ETag": "\"v1\""]),
            .reply(status: 304, headers: ["Vary": "Accept-Language", "ETag": "\"v1\""]),
            .reply("no", status: 400)
        )
        for _ in 0..<2 {
            try await fixture.fetch(url, .networkOnly) { command in
                command.headers.append("Accept-Language", "de")
            }
        }
        #expect(fixture.upstream.asked.all.count == 3)
        #expect(try await shown("de")?.text == "[1]")
    }

    @Test(
        "A 404 that varies, or that a redirect which varies led to, deletes no answer to others",
        arguments: [nil, "/missing"]
    )
    func deletedVariant(redirect: String?) async throws {
        let (url, vary) = (try fixture.url("/a"), ["Vary": "Accept-Language"])
        var last = ScriptedAnswer.reply(status: 404, headers: vary)
        if let redirect {
            let place = try fixture.url(redirect)
            let headers = vary.merging(["Location": place.text]) { own, _ in own }
            last = .reply(status: 302, headers: headers)
            fixture.upstream.answer(place, with: .reply(status: 404))
        }
        fixture.upstream.answer(url, with: answer(Self.old), last)
        try await fixture.fetch(url)
        let german = try await fixture.fetch(url) { $0.headers.append("Accept-Language", "de") }
        #expect(german.refusal?.kind == .deleted)
        let offline = try await fixture.fetch(url, .cacheOnly) { command in
            command.headers.append("Accept-Language", "de")
        }
        #expect(offline.shape == ["deleted 404", "end deleted"])
        let kept = try await fixture.fetch(url, .cacheOnly).lastShown
        #expect(kept?.text == Self.old)
    }

    @Test("A 404 that varies by another header leaves the cached variants findable")
    func deletedByOtherHeader() async throws {
        try await cache()
        let url = try fixture.url("/a")
        fixture.upstream.answer(url, with: .reply(status: 404, headers: ["Vary": "Accept"]))
        let french = try await fixture.fetch(url) { command in
            command.headers.append("Accept-Language", "fr")
            command.headers.append("Accept", "text/plain")
        }
        #expect(french.refusal?.kind == .deleted)
        for language in Self.languages {
            let frame = try await shown(language)
            #expect(frame?.text == Self.old)
        }
    }

    @Test("Answers that differ by a long header, or by one with a tab, are stored as any variant")
    func longValues() async throws {
        let url = try fixture.url("/a")
        let states = [9_000, 9_001].map { String(repeating: "x", count: $0) } + ["a\tb"]
        for (index, state) in states.enumerated() {
            let headers = ["Vary": "X-State", "Cache-Control": "max-age=60"]
            fixture.upstream.answer(url, with: .json("[\(index)]", headers: headers))
            try await fixture.fetch(url) { $0.headers.append("X-State", state) }
        }
        for (index, state) in states.enumerated() {
            let frame = try await fixture.fetch(url, .cacheOnly) { command in
                command.headers.append("X-State", state)
            }.lastShown
            #expect(frame?.text == "[\(index)]")
        }
    }

    @Test("Answers that differ by headers that are too long together are stored as any variant")
    func longTogether() async throws {
        let url = try fixture.url("/a")
        let names = (0..<9).map { "X-Part-\($0)" }
        let headers = ["Vary": names.joined(separator: ", "), "Cache-Control": "max-age=60"]
        let values = ["x", "y"].map { String(repeating: $0, count: 1_000) }
        for (index, value) in values.enumerated() {
            fixture.upstream.answer(url, with: .json("[\(index)]", headers: headers))
            try await fixture.fetch(url) { command in
                for name in names { command.headers.append(name, value) }
            }
        }
        for (index, value) in values.enumerated() {
            let frame = try await fixture.fetch(url, .cacheOnly) { command in
                for name in names { command.headers.append(name, value) }
            }.lastShown
            #expect(frame?.text == "[\(index)]")
        }
    }
}
