import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

/// Bodies of every kind and size: how they are shown, and what is kept of them.
@Suite(.timeLimit(.minutes(5)), .engine)
struct BodyTests {
    private let fixture = EngineFixture.running
    private let url = EngineFixture.firstURL

    private static let text = ["Content-Type": "text/plain"]

    @Test("Pretty-printed JSON is kept byte for byte, and only its line ends change in a frame")
    func prettyJSON() async throws {
        let pretty = "{\r\n\t\"a\": \"\\n\",\n \"b\": 1.0}\n"
        fixture.upstream.answer(url, with: .json(pretty))
        for result in [try await fixture.fetch(url), try await fixture.cached(url)] {
            let shown = FrameBody.json(RawJSON.onOneLine(Array(pretty.utf8)))
            #expect(result.lastShown?.entry.content == shown)
            let line = String(decoding: result.frames[0].encodedLine(), as: UTF8.self)
            #expect(line.contains(#""body":{  \#t"a": "\n",  "b": 1.0} }"#))
        }
        #expect(try await fixture.bytes(url) == Array(pretty.utf8))
    }

    @Test(
        "A body that is not JSON is shown as bytes, whatever its Content-Type",
        arguments: [[], [0, 255, 10], Array("{\"a\":".utf8), [UInt8](repeating: 0, count: 65_536)]
    )
    func bytes(body: [UInt8]) async throws {
        let pieces: [ScriptedAnswer.Piece] = body.isEmpty ? [] : [.bytes(body)]
        fixture.upstream.answer(
            url,
            with: .reply(pieces: pieces, 200, ["Content-Type": "application/json"])
        )
        #expect(try await fixture.fetch(url).lastShown?.entry.content == .bytes(body))
        #expect(try await fixture.cached(url).lastShown?.entry.content == .bytes(body))
    }

    @Test("JSON that is kept in chunks is inline, from the network and from the cache")
    func chunkedJSON() async throws {
        fixture.upstream.answer(url, with: .pieces(of: largeJSON))
        let body = FrameBody.json(Array(largeJSON.utf8))
        #expect(try await fixture.fetch(url).lastShown?.entry.content == body)
        #expect(try await fixture.cached(url).lastShown?.entry.content == body)
        // The network would win against a body that is read off the loop.
        let gate = Gate()
        fixture.upstream.answer(url, with: .json(largeJSON).held(by: gate))
        let fetch = fixture.start(url, .cacheThenNetwork)
        _ = try await fetch.frames.element(0)
        gate.open()
        let shape = try await fetch.result().shape
        #expect(shape == ["cache", "unchanged 200", "end unchanged"])
    }

    @Test(
        "A body that is too large for a frame is shown by its address",
        arguments: [
            String(repeating: "x", count: 65_537),
            "\"" + String(repeating: "x", count: 1_048_575) + "\"",
        ]
    )
    func addressed(body: String) async throws {
        let url = try fixture.url("/a/b")
        fixture.upstream.answer(url, with: .pieces(of: body))
        let href = FrameBody.href("/v1/entries/https%3A%2F%2Fapi.example.com%2Fa%2Fb")
        #expect(try await fixture.fetch(url).lastShown?.entry.content == href)
        #expect(try await fixture.cached(url).lastShown?.entry.content == href)
        #expect(try await fixture.bytes(url) == Array(body.utf8))
    }

    @Test("An answer above max_entry_bytes is refused and leaves nothing behind")
    func tooLarge() async throws {
        try await EngineFixture.run(.with { $0.store.maxEntryBytes = ByteSize(bytes: 200_000) }) {
            fixture in
            try await fixture.cache(url, .json("[1]"))
            let before = fixture.engine.store.totals
            let body = String(repeating: "x", count: 200_001)
            fixture.upstream.answer(url, with: .pieces(of: body))
            let got = try await fixture.fetch(url)
            #expect(got.shape == ["cache", "problem entry-too-large", "end error"])
            try await fixture.engine.store.settle()
            #expect(fixture.engine.store.totals == before)
            fixture.upstream.answer(url, with: .pieces(of: String(body.dropLast())))
            #expect(try await fixture.fetch(url).shape == ["cache", "network", "end network"])
        }
    }

    @Test("A body that breaks off leaves the old entry and none of its own chunks")
    func brokenOff() async throws {
        try await EngineFixture.run(.with { $0.origin.fetch.timeout = .milliseconds(1) }) {
            fixture in
            try await fixture.cache(url, .json("[1]"))
            let before = fixture.engine.store.totals
            fixture.upstream.answer(
                url,
                with: .reply(pieces: [
                    .bytes([UInt8](repeating: 0x20, count: 300_000)),
                    .failure(.brokenOff(reason: "reset")),
                ])
            )
            let got = try await fixture.fetch(url)
            #expect(got.shape == ["cache", "problem bad-answer", "end error"])
            try await fixture.engine.store.settle()
            #expect(fixture.engine.store.totals == before)
            #expect(try await fixture.cached(url).frames[0] == got.frames[0])
        }
    }

    @Test("A body that breaks off is asked for again, without the validator")
    func brokenOffOnce() async throws {
        fixture.upstream.answer(
            url,
            with: .reply(pieces: [.bytes([0x5B]), .failure(.brokenOff(reason: "reset"))]),
            .json("[2]")
        )
        let fetch = fixture.start(url)
        let pause = Limits.retryBase * fixture.randomUnit(1)
        try await fixture.clock.sleepers(until: pause)
        fixture.clock.advance(by: pause)
        #expect(try await fetch.result().shape == ["network", "end network"])
    }

    // MARK: no-store

    private static let noStore = ["Cache-Control": "no-store"]

    @Test("A no-store answer is told and not kept")
    func noStore() async throws {
        let before = fixture.engine.store.totals
        fixture.upstream.answer(url, with: .json("[1]", headers: Self.noStore))
        #expect(try await fixture.fetch(url).shape == ["network", "end network"])
        #expect(try await fixture.cached(url).refusal?.kind == .miss)
        #expect(fixture.engine.store.totals == before)
    }

    @Test("A no-store answer with the bytes that were shown is unchanged")
    func noStoreUnchanged() async throws {
        try await fixture.cache(url, .json("[1]"))
        fixture.upstream.answer(url, with: .json("[1]", headers: Self.noStore))
        let shape = try await fixture.fetch(url).shape
        #expect(shape == ["cache", "unchanged 200", "end unchanged"])
    }

    @Test("A no-store answer with other bytes makes the stored answer stale, not its variants")
    func noStoreChanged() async throws {
        let minute = ["Cache-Control": "max-age=60"]
        let varying = minute.merging(["Vary": "Accept"]) { own, _ in own }
        fixture.upstream.answer(url, with: .json("[0]", headers: varying))
        try await fixture.fetch(url) { $0.headers.append("Accept", "text/x") }
        try await fixture.cache(url, .json("[1]", headers: minute))
        #expect(try await fixture.fetch(url, .cacheFirst).shape == ["cache", "end cache"])
        fixture.upstream.answer(
            url,
            with: .json("[1]", headers: Self.noStore),
            .json("[2]", headers: Self.noStore),
            .failure(.timedOut(.head))
        )
        try await fixture.fetch(url)
        #expect(try await fixture.cached(url).lastShown?.stale == false)
        #expect(try await fixture.fetch(url).lastShown?.text == "[2]")
        let offline = try await fixture.fetch(url, .cacheFirst).lastShown
        #expect(offline?.text == "[1]")
        #expect(offline?.stale == true)
        let variant = try await fixture.fetch(url, .cacheOnly) { command in
            command.headers.append("Accept", "text/x")
        }
        #expect(variant.lastShown?.stale == false)
    }

    @Test("A no-store answer that comes after a newer answer leaves that one fresh")
    func noStoreLate() async throws {
        let minute = ["Cache-Control": "max-age=60"]
        try await fixture.cache(url, .json("[1]", headers: minute))
        let gate = Gate()
        let late = ScriptedAnswer.json("[2]", headers: Self.noStore).held(by: gate)
        let newer = ScriptedAnswer.json("[3]", headers: minute)
        fixture.upstream.answerOthers { $0.headers["X-Trace"] == nil ? late : newer }
        let fetch = fixture.start(url)
        _ = try await fixture.upstream.asked.element(1)
        try await fixture.fetch(url) { $0.headers.append("X-Trace", "7") }
        gate.open()
        _ = try await fetch.result()
        let shown = try await fixture.cached(url).lastShown
        #expect(shown?.text == "[3]")
        #expect(shown?.stale == false)
    }

    @Test(
        "A no-store answer with other bytes makes a pinned row stale, and a shared row",
        arguments: ["no-store", "private, no-store"]
    )
    func noStoreChangedElsewhere(control: String) async throws {
        for isShared in [false, true] {
            try await EngineFixture.run(.with { $0.origin.isShared = isShared }) { fixture in
                let minute = ["Cache-Control": "max-age=60"]
                try await fixture.cache(url, .json(#"{"n":1}"#, headers: minute))
                if !isShared {
                    _ = try await fixture.engine.pins.pin(EntryID(url), fixture.scope)
                }
                let other = Scope.own(uid: 2_000, account: .default)
                let scope = isShared ? other : EngineFixture.scope
                #expect(try await fixture.cached(url, as: scope).lastShown?.stale == false)
                let headers = ["Cache-Control": control]
                fixture.upstream.answer(url, with: .json(#"{"n":2}"#, headers: headers))
                try await fixture.fetch(url)
                let shown = try await fixture.cached(url, as: scope).lastShown
                #expect(shown?.stale == true, "shared: \(isShared)")
            }
        }
    }

    @Test(
        "A no-store answer that cannot be shown is refused, as there is nowhere to point to",
        arguments: [65_537, 1_048_577]
    )
    func noStoreTooLarge(count: Int) async throws {
        let piece = [UInt8](repeating: 0, count: count)
        fixture.upstream.answer(url, with: .reply(pieces: [.bytes(piece)], 200, Self.noStore))
        #expect(try await fixture.fetch(url).refusal?.kind == .entryTooLarge)
    }

    @Test("With store_no_store it is kept like any other")
    func storeNoStore() async throws {
        try await EngineFixture.run(.with { $0.origin.fetch.storesNoStore = true }) { fixture in
            try await fixture.cache(url, .json("[1]", headers: Self.noStore))
            #expect(try await fixture.cached(url).shape == ["cache", "end cache"])
        }
    }
}

extension EngineFixture {
    /// The exact bytes under a URL, as the store has them.
    func bytes(_ url: WebURL) async throws -> [UInt8]? {
        let id = try EntryID(url)
        let reader = try engine.store.makeReader()
        defer { reader.endTransaction() }
        var inline: [UInt8]?
        let chunked = try reader.withEntry(scope, id, now: clock.now()) { row in
            inline = row.withBody { Array($0) }
            return row.chunkedBody
        }
        guard let found = chunked, let found else { return inline }
        let now = clock.now()
        guard let body = try await engine.store.bodies.open(found, of: scope, id, now: now) else {
            return nil
        }
        var bytes: [UInt8] = []
        while let chunk = try await body.next() { bytes += chunk }
        return bytes
    }
}

extension ScriptedAnswer {
    /// The body in pieces of odd sizes, as a network cuts it.
    static func pieces(of body: String) -> ScriptedAnswer {
        var rest = Array(body.utf8)[...]
        var pieces: [Piece] = []
        var size = 1
        while !rest.isEmpty {
            pieces.append(.bytes(Array(rest.prefix(size))))
            rest = rest.dropFirst(size)
            size = size * 3 + 1
        }
        return .reply(pieces: pieces)
    }
}
