import LarderJSON
import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

@Suite("A confirmed write on an unknown base", .timeLimit(.minutes(5)), .engine)
struct PartTests {
    private let fixture = EngineFixture.running
    private let url = EngineFixture.firstURL

    /// Has a write confirmed; the read after it is refused, which says nothing of the target.
    private func confirm(_ target: EntryID, _ effect: String) async throws {
        let writes = try fixture.url("/w")
        fixture.upstream.answer(writes, with: .reply(status: 204))
        fixture.upstream.answer(url, with: .reply("no", status: 403))
        let asked = fixture.upstream.asked.all.count
        let id = try await fixture.write(target, Effect.json(effect), "POST", to: writes)
        #expect(try await fixture.settled(id).state == .confirmed)
        #expect(try await fixture.upstream.asked.element(asked + 1).method == "GET")
    }

    @Test("The part stays visible and incomplete until the target is read (case 6)", .userEngine)
    func stays() async throws {
        try await confirm(.url(url), #"{"type":"merge","value":{"title":"eggs"}}"#)
        let later = [
            #"{"type":"set","value":{"set":{"/n":1}}}"#, #"{"type":"add","value":{"/n":2}}"#,
        ]
        for effect in later {
            let shown = try await fixture.cached(url).lastShown
            #expect(shown?.source == .modifier)
            #expect(shown?.complete == false)
            try await confirm(.url(url), effect)
        }
        let shown = try await fixture.cached(url).lastShown
        #expect(shown?.text == #"{"title":"eggs","n":3}"#)
        #expect(shown?.source == .modifier)
        #expect(shown?.complete == false)
        #expect(shown?.pending == 0)
        // The same bytes, but now the server says that they are all.
        fixture.upstream.answer(url, with: .json(#"{"title":"eggs","n":3}"#))
        let read = try await fixture.fetch(url)
        #expect(read.lastShown?.complete == true)
        #expect(try await fixture.cached(url).lastShown?.complete == true)
        #expect(try await fixture.cached(url).lastShown?.source == .cache)
    }

    @Test("A waiting write shows on it, and a put makes it complete (cases 1, 6)", .userEngine)
    func waiting() async throws {
        try await confirm(.url(url), #"{"type":"merge","value":{"title":"eggs"}}"#)
        let merge = try Effect.json(#"{"type":"merge","value":{"n":1}}"#)
        try await fixture.write(.url(url), merge, "PATCH", id: "m", hold: .seconds(60))
        var shown = try await fixture.cached(url).lastShown
        #expect(shown?.text == #"{"title":"eggs","n":1}"#)
        #expect(shown?.source == .modifier)
        #expect(shown?.complete == false)
        try await fixture.cancel("m")
        try await confirm(.url(url), #"{"type":"put","value":{"title":"milk"}}"#)
        shown = try await fixture.cached(url).lastShown
        #expect(shown?.text == #"{"title":"milk"}"#)
        #expect(shown?.complete == true)
    }

    @Test("A put of no more than the part makes it complete (cases 1, 6)", .userEngine)
    func samePut() async throws {
        try await confirm(.url(url), #"{"type":"merge","value":{"title":"eggs"}}"#)
        try await confirm(.url(url), #"{"type":"put","value":{"title":"eggs"}}"#)
        let shown = try await fixture.cached(url).lastShown
        #expect(shown?.text == #"{"title":"eggs"}"#)
        #expect(shown?.complete == true)
    }

    @Test("The part stays incomplete in the cache, once no write targets it", .userEngine)
    func demoted() async throws {
        try await confirm(.url(url), #"{"type":"merge","value":{"title":"eggs"}}"#)
        _ = try await fixture.engine.store.maintain()
        let id = try EntryID.url(url)
        let now = fixture.clock.now()
        let scope = fixture.scope
        let isComplete = try await fixture.engine.store.read { reader throws(StoreError) in
            try reader.withEntry(scope, id, now: now) { $0.isComplete }
        }
        #expect(isComplete == false)
        #expect(try await fixture.cached(url).lastShown?.complete == false)
    }

    @Test("The part of an entity stays incomplete in the cache until it is read", .userEngine)
    func entityDemoted() async throws {
        let own = try fixture.url("/users/7")
        fixture.upstream.answer(own, with: .reply(status: 204), .reply("no", status: 403))
        let effect = try Effect.json(#"{"type":"merge","value":{"name":"Bea"}}"#)
        let id = try await fixture.write(.entity("User:7"), effect)
        #expect(try await fixture.settled(id).state == .confirmed)
        #expect(try await fixture.upstream.asked.element(1).method == "GET")
        let name = try EntityName.example("User:7")
        for _ in 0..<2 {
            let shown = try await fixture.read(name, as: .view, fixture.scope)
            #expect(shown?.overlay.isComplete == false)
            #expect(shown?.source == .modifier)
            try await fixture.engine.store.maintain()
        }
        #expect(!fixture.engine.store.isDurable(fixture.scope, EntryID(name)))
        fixture.upstream.answer(own, with: .json(#"{"type":"User","id":7,"name":"Bea"}"#))
        try await fixture.fetch(own) { $0.policy = .networkOnly }
        let shown = try await fixture.read(name, as: .view, fixture.scope)
        #expect(shown?.overlay.isComplete == true)
        #expect(shown?.source == .cache)
    }
}
