import LarderJSON
import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

@Suite("Reads after writes (case 6)", .timeLimit(.minutes(2)), .engine)
struct ReadAfterWriteTests {
    private let fixture = EngineFixture.running
    private let url = EngineFixture.firstURL
    private static let liked = #"{"type":"merge","value":{"liked":true}}"#

    private func write(
        _ fixture: EngineFixture,
        _ effect: String = liked
    ) async throws -> ModifierID {
        let writes = try fixture.url("/w")
        return try await fixture.write(.url(url), Effect.json(effect), "POST", to: writes)
    }

    /// Waits until a write is confirmed.
    private func confirm(_ fixture: EngineFixture) async throws {
        fixture.upstream.answer(try fixture.url("/w"), with: .reply(status: 204))
        let id = try await write(fixture)
        #expect(try await fixture.settled(id).state == .confirmed)
    }

    private func reads(_ fixture: EngineFixture) -> Int {
        fixture.upstream.asked.all.filter { $0.method == "GET" }.count
    }

    private func wanted(_ fixture: EngineFixture) async throws -> [EntryID] {
        try await fixture.engine.store.modifiers.wantedReads().map(\.id)
    }

    @Test("A read is repeated after a failure that may pass", arguments: [401, 408, 425, 429, 500])
    func repeated(status: Int) async throws {
        try await fixture.cache(url, .json(#"{"liked":false}"#))
        fixture.upstream.answer(
            url,
            with: .reply("later", status: status),
            .json(#"{"liked":true,"by":1}"#)
        )
        try await confirm(fixture)
        try await until {
            fixture.clock.advance(by: .seconds(1))
            return try await wanted(fixture).isEmpty
        }
        #expect(try await fixture.cached(url).lastShown?.text == #"{"liked":true,"by":1}"#)
        #expect(reads(fixture) == 3)
    }

    @Test("A refusal that stays ends a read", arguments: [403, 404, 410, 422])
    func refused(status: Int) async throws {
        try await fixture.cache(url, .json(#"{"liked":false}"#))
        fixture.upstream.answer(url, with: .reply("no", status: status))
        try await confirm(fixture)
        try await until { try await wanted(fixture).isEmpty }
        #expect(reads(fixture) == 2)
    }

    @Test("A read that has failed survives a restart")
    func restarted() async throws {
        var left: TemporaryStore?
        let setup = try EngineSetup.with { _ in }
        try await EngineFixture.run(setup) { fixture in
            try await fixture.cache(url, .json(#"{"liked":false}"#))
            fixture.upstream.answer(url, with: .reply("later", status: 503))
            try await confirm(fixture)
            #expect(try await wanted(fixture) == [try .url(url)])
            left = fixture.temporary
        }
        try left?.open()
        try await EngineFixture.run(setup, on: left) { fixture in
            fixture.upstream.answer(url, with: .json(#"{"liked":true,"by":1}"#))
            try await until { try await wanted(fixture).isEmpty }
            #expect(try await fixture.cached(url).lastShown?.text == #"{"liked":true,"by":1}"#)
        }
    }

    @Test(
        "A shared row stays to be read while a confirmed write waits for it (case 29)",
        .sharedEngine
    )
    func waitedFor() async throws {
        let id = try EntryID.url(url)
        try await fixture.cache(url, .json(#"{"liked":false}"#))
        fixture.upstream.answer(
            url,
            with: .reply("later", status: 503),
            .json(#"{"liked":true,"by":1}"#)
        )
        fixture.upstream.answer(try fixture.url("/w"), with: .reply(status: 204))
        _ = try await write(fixture)
        try await until { try await wanted(fixture) == [id] }
        // As after an answer that could not be stored.
        let name = TargetName(fixture.scope, id)
        try await fixture.engine.store.modifiers.readEnded(name, upTo: Revision(.max))
        #expect(try await wanted(fixture) == [id])
        try await until {
            fixture.clock.advance(by: .seconds(1))
            return try await wanted(fixture).isEmpty
        }
        #expect(try await fixture.cached(url).lastShown?.text == #"{"liked":true,"by":1}"#)
    }

    @Test("A read joins no request that started before the write was confirmed")
    func joinsNone() async throws {
        let gate = Gate()
        try await fixture.cache(url, .json(#"{"liked":false}"#))
        fixture.upstream.answer(
            url,
            with: ScriptedAnswer.reply("no", status: 403).held(by: gate),
            .json(#"{"liked":true,"by":1}"#)
        )
        let fetch = fixture.start(url, .networkOnly)
        _ = try await fixture.upstream.asked.element(1)
        try await confirm(fixture)
        try await until { try await wanted(fixture).isEmpty }
        #expect(try await fixture.cached(url).lastShown?.text == #"{"liked":true,"by":1}"#)
        gate.open()
        _ = try await fetch.result()
        #expect(reads(fixture) == 3)
    }

    @Test("A single request reads the row after a run of its writes")
    func ofRun() async throws {
        let writes = try fixture.url("/w")
        try await fixture.cache(url, .json(#"{"n":0}"#))
        fixture.upstream.answer(url, with: .json(#"{"n":3}"#))
        let gate = Gate()
        fixture.upstream.answer(
            writes,
            with: ScriptedAnswer.reply(status: 204).held(by: gate),
            .reply(status: 204),
            .reply(status: 204)
        )
        var ids: [ModifierID] = []
        for n in 1...3 {
            ids.append(try await write(fixture, #"{"type":"merge","value":{"n":\#(n)}}"#))
        }
        gate.open()
        for id in ids { #expect(try await fixture.settled(id).state == .confirmed) }
        try await until { try await wanted(fixture).isEmpty }
        #expect(reads(fixture) == 2)
        #expect(fixture.upstream.asked.all.last?.method == "GET")
        #expect(fixture.clock.monotonic() == .zero)
    }

    @Test("A target that a DELETE has deleted needs no read, also after another write")
    func deleted() async throws {
        let (gate, delete) = (Gate(), try Effect.json(#"{"type":"delete"}"#))
        try await fixture.cache(url, .json(#"{"n":0}"#))
        fixture.upstream.answer(
            try fixture.url("/w"),
            with: ScriptedAnswer.reply(status: 204).held(by: gate)
        )
        let first = try await write(fixture)
        let last = try await fixture.write(.url(url), delete, "DELETE")
        fixture.upstream.answer(url, with: .reply(status: 204))
        gate.open()
        for id in [first, last] { #expect(try await fixture.settled(id).state == .confirmed) }
        #expect(try await wanted(fixture).isEmpty)
        // A read of the deleted row would come before that of another row.
        let other = try fixture.url("/other")
        try await fixture.cache(other, .json(#"{"n":0}"#))
        fixture.upstream.answer(other, with: .reply(status: 204), .json(#"{"n":1}"#))
        let effect = try Effect.json(#"{"type":"merge","value":{"n":1}}"#)
        let id = try await fixture.write(.url(other), effect)
        #expect(try await fixture.settled(id).state == .confirmed)
        try await until { try await wanted(fixture).isEmpty }
        #expect(reads(fixture) == 3)
    }

    @Test("After a DELETE that was answered 404 its target is read, and is back if it is there")
    func notDeleted() async throws {
        try await fixture.cache(url, .json(#"{"n":0}"#))
        fixture.upstream.answer(url, with: .reply(status: 404), .json(#"{"n":0}"#))
        let id = try await fixture.write(.url(url), .delete, "DELETE")
        #expect(try await fixture.settled(id).state == .confirmed)
        try await until { try await wanted(fixture).isEmpty }
        #expect(try await fixture.cached(url).lastShown?.text == #"{"n":0}"#)
    }

    @Test("A read that a later write overtook is no read after a write (case 8)")
    func overtaken() async throws {
        try await fixture.cache(url, .json(#"{"liked":false,"by":0}"#))
        let gate = Gate()
        fixture.upstream.answer(
            url,
            with: ScriptedAnswer.json(#"{"liked":true,"by":1}"#).held(by: gate),
            .json(#"{"liked":true,"by":2}"#)
        )
        try await confirm(fixture)
        _ = try await fixture.upstream.asked.element(2)
        try await confirm(fixture)
        gate.open()
        try await until { try await wanted(fixture).isEmpty }
        #expect(try await fixture.cached(url).lastShown?.text == #"{"liked":true,"by":2}"#)
        #expect(reads(fixture) == 3)
    }

    @Test("Writes that go on following each other do not put off the read for ever")
    func ofEndlessRun() async throws {
        let writes = try fixture.url("/w")
        try await fixture.cache(url, .json(#"{"n":0}"#))
        let read = ScriptedAnswer.json(#"{"n":3}"#)
        fixture.upstream.answer(url, with: read, read, read)
        let gates = [Gate(), Gate(), Gate()]
        fixture.upstream.answer(
            writes,
            with: ScriptedAnswer.reply(status: 204).held(by: gates[0]),
            ScriptedAnswer.reply(status: 204).held(by: gates[1]),
            ScriptedAnswer.reply(status: 204).held(by: gates[2])
        )
        var ids: [ModifierID] = []
        for n in 1...3 {
            ids.append(try await write(fixture, #"{"type":"merge","value":{"n":\#(n)}}"#))
        }
        for n in 0...1 {
            gates[n].open()
            #expect(try await fixture.settled(ids[n]).state == .confirmed)
            // The second end starts no new delay.
            try await fixture.clock.sleepers(n + 1, until: Limits.wantedReadDelay)
            fixture.clock.advance(by: Limits.wantedReadDelay / 2)
        }
        try await until { reads(fixture) == 2 }
        gates[2].open()
        #expect(try await fixture.settled(ids[2]).state == .confirmed)
        try await until { try await wanted(fixture).isEmpty }
    }

    @Test("The rows of one user do not keep those of another from being read")
    func users() async throws {
        let (gate, store) = (Gate(), fixture.engine.store)
        fixture.upstream.answerOthers { _ in
            ScriptedAnswer.reply("no", status: 403).held(by: gate)
        }
        let reads = fixture.engine.steps.reads
        let one = store.key(for: .own(uid: 1, account: .default))
        let other = store.key(for: .own(uid: 2, account: .default))
        for number in 0..<Limits.wantedReadsMax {
            let id = try EntryID(fixture.url("/one/" + String(number)))
            reads.read(TargetName(one, id), since: Revision(1))
        }
        let last = try fixture.url("/other")
        reads.read(TargetName(other, try EntryID(last)), since: Revision(1))
        try await until { fixture.upstream.asked.all.contains { $0.url == last } }
        gate.open()
    }

    @Test("The eviction of the row ends a read")
    func evicted() async throws {
        try await fixture.cache(url, .json(#"{"liked":false}"#))
        fixture.upstream.answer(url, with: .reply("later", status: 500))
        try await confirm(fixture)
        try await fixture.engine.store.maintain()
        let order = EvictOrder(.ids([try .url(url)]))
        _ = try await fixture.engine.eviction.evict(order, .one(fixture.scope))
        try await until {
            fixture.clock.advance(by: .seconds(1))
            return try await wanted(fixture).isEmpty
        }
        #expect(reads(fixture) == 2)
    }
}
