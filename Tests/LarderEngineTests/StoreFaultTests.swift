import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

/// A store that fails: clients still get what the network says.
@Suite(.timeLimit(.minutes(5)), .engine)
struct StoreFaultTests {
    private let fixture = EngineFixture.running
    private let url = EngineFixture.firstURL

    @Test("A small answer that cannot be stored is told all the same", arguments: [10, 13])
    func smallAnswer(code: Int32) async throws {
        let last = try fixture.step()
        fixture.faults.arm(
            1,
            of: StoreStep.putEntry,
            with: code == 13 ? .full : .inputOutput,
            .forGood
        )
        fixture.upstream.answer(url, with: .json("[1]"))
        let got = try await fixture.fetch(url)
        fixture.faults.disarm()
        let revision = try #require(got.lastShown?.revision)
        #expect(revision > last)
        #expect(
            got.frames == [
                try .snapshot(.network, revision, url, json: "[1]"),
                .end(.network, revision, network: .zero),
            ]
        )
        let logged = fixture.log.lines.all.last ?? ""
        #expect(logged.hasPrefix("an answer was not stored id=\(url)"))
        #expect(try await fixture.cached(url).refusal?.kind == .miss)
    }

    @Test("A cached answer stays fresh if storing a newer one fails")
    func stillFresh() async throws {
        let minute = ["Cache-Control": "max-age=60"]
        try await fixture.cache(url, .json("[1]", headers: minute))
        fixture.faults.arm(1, of: StoreStep.putEntry, .forGood)
        fixture.upstream.answer(url, with: .json("[2]", headers: minute))
        #expect(try await fixture.fetch(url).lastShown?.text == "[2]")
        fixture.faults.disarm()
        let kept = try await fixture.cached(url).lastShown
        #expect(kept?.text == "[1]")
        #expect(kept?.stale == false)
    }

    @Test("A large answer on its way into chunks goes on in memory when the store fails")
    func largeAnswer() async throws {
        let before = fixture.engine.store.totals
        for step in [StoreStep.putBody, StoreStep.putChunk, StoreStep.putEntry] {
            for n in 1...2 {
                fixture.faults.arm(n, of: step, with: .full, .forGood)
                fixture.upstream.answer(url, with: .json(largeJSON))
                let got = try await fixture.fetch(url)
                fixture.faults.disarm()
                #expect(got.shape == ["network", "end network"], "\(step) \(n)")
                if fixture.faults.failures == 0 {
                    _ = try await fixture.engine.entries.remove(EntryID(url), fixture.scope)
                } else {
                    #expect(try await fixture.cached(url).refusal?.kind == .miss)
                }
                try await fixture.engine.store.settle()
                #expect(fixture.engine.store.totals == before, "\(step) \(n)")
            }
        }
    }

    @Test("An answer too large for a frame is a problem and leaves no rows if storing fails")
    func hugeAnswer() async throws {
        let before = fixture.engine.store.totals
        // Other bytes than JSON, too many for a frame, fail at their first chunk; JSON that is
        // too large for a frame fails at its seventeenth.
        let binary = ScriptedAnswer.reply(pieces: [.bytes(.init(repeating: 1, count: 70_000))])
        let numbers = Array(repeating: UInt8(ascii: "1"), count: 100_000)
        let text = ScriptedAnswer.reply(pieces: Array(repeating: .bytes(numbers), count: 13))
        for (n, answer) in [(1, binary), (17, text)] {
            fixture.faults.arm(n, of: StoreStep.putChunk, with: .full, .forGood)
            fixture.upstream.answer(url, with: answer)
            let refusal = try await fixture.fetch(url).refusal
            fixture.faults.disarm()
            #expect(refusal?.kind == .diskFull)
            #expect(refusal?.status == 507)
            try await fixture.engine.store.settle()
            #expect(fixture.engine.store.totals == before)
        }
    }

    @Test("A 304 that cannot be written down still confirms what was shown")
    func refresh() async throws {
        try await fixture.cache(url, .json("[1]", etag: "\"v1\""))
        fixture.faults.arm(1, of: StoreStep.confirmEntry, .forGood)
        fixture.upstream.answer(url, with: .notModified)
        let shape = try await fixture.fetch(url).shape
        fixture.faults.disarm()
        #expect(shape == ["cache", "unchanged 304", "end unchanged"])
    }

    @Test("A cache that cannot be read does not keep the network from answering")
    func unreadable() async throws {
        try await fixture.cache(url, .json("[1]"))
        // The first is that the client's reader prepares it.
        fixture.faults.arm(2, of: StoreStep.readEntry, with: .corrupt)
        fixture.upstream.answer(url, with: .json("[2]"))
        #expect(try await fixture.fetch(url).shape == ["network", "end network"])
        // It was made anew, and the second answer was stored there.
        #expect(try await fixture.cached(url).shape == ["cache", "end cache"])
        #expect(fixture.engine.store.files.findings.count == 1)
        // A disk that cannot be read is none that says that there is nothing.
        fixture.faults.arm(2, of: StoreStep.readEntry, with: .inputOutput)
        #expect(try await fixture.cached(url).refusal?.kind == .storage)
    }
    @Test("However often a store fails, the log has a few lines a minute, and how many it left out")
    func repeated() async throws {
        fixture.faults.arm(1, of: StoreStep.putEntry, with: .full, .forGood)
        let (most, leftOut) = (Limits.noticesMax, 3)
        for _ in 0..<(most + leftOut) {
            fixture.upstream.answer(url, with: .json("[1]"))
            try await fixture.fetch(url)
        }
        var logged: [String] {
            fixture.log.lines.all.filter { $0.hasPrefix("an answer was not stored") }
        }
        #expect(logged.count == most)
        fixture.clock.advance(by: Limits.noticeTime)
        fixture.upstream.answer(url, with: .json("[1]"))
        try await fixture.fetch(url)
        fixture.faults.disarm()
        #expect(logged.count == most + 1)
        #expect(logged.last?.contains("count=\(leftOut)") == true)
    }
}
