import LarderAPI
import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
import Testing

@testable import LarderEngine

/// What waits is looked for again whatever came between, each moment fixed by the clock.
@Suite("The keeper of pins", .timeLimit(.minutes(5)), .engine)
struct PinFetchRunnerTests {
    private let fixture = EngineFixture.running

    @Test("A pin that was left alone for a client is looked for when that is over")
    func leftAlone() async throws {
        let other = OriginSettings(
            name: try OriginName("other"),
            baseURL: try WebURL("https://other.example")
        )
        try await EngineFixture.run(.with { $0.others = [other] }) { fixture in
            let url = try fixture.url("/a")
            let otherURL = try WebURL("https://other.example/b")
            let (scope, id) = (fixture.scope, try EntryID(url))
            // As a client does whose own attempt is still to come.
            fixture.engine.context.keeper.beginAsking(scope, id)
            fixture.upstream.answer(url, with: .failure(.cancelled))
            #expect(try await fixture.pin(url).isNew == nil)
            fixture.upstream.answer(otherURL, with: .failure(.cancelled))
            #expect(try await fixture.pin(otherURL).isNew == nil)
            // The keeper has looked, and waits for the other origin only.
            try await fixture.clock.sleepers(until: .seconds(1))
            fixture.upstream.answer(url, with: .json("[1]"))
            fixture.engine.context.keeper.endAsking(scope, id)
            #expect(try await fixture.upstream.asked.element(2).url == url)
        }
    }

    @Test("A look that the store fails is taken again")
    func failedLook() async throws {
        let url = try fixture.url("/a")
        fixture.upstream.answer(url, with: .failure(.cancelled))
        #expect(try await fixture.pin(url).isNew == nil)
        try await fixture.clock.sleepers(until: .seconds(1))
        fixture.faults.arm(1, of: StoreStep.readWanted)
        fixture.upstream.answer(url, with: .json("[1]"))
        fixture.clock.advance(by: .seconds(1))
        try await fixture.clock.sleepers(until: .seconds(2))
        #expect(fixture.faults.failures == 1)
        #expect(fixture.upstream.asked.all.count == 1)
        fixture.clock.advance(by: .seconds(1))
        #expect(try await fixture.upstream.asked.element(1).url == url)
    }

    @Test("A pin for which there is no room while its JSON arrives is fetched once")
    func noRoomForJSON() async throws {
        let setup = try EngineSetup.with { $0.store.pinsMaxBytes = ByteSize(bytes: 100_000) }
        try await EngineFixture.run(setup) { fixture in
            let url = try fixture.url("/a")
            let long = "[\"" + String(repeating: "x", count: 120_000) + "\"]"
            fixture.upstream.answerOthers { _ in .json(long) }
            let problem = await #expect(throws: Problem.self) { try await fixture.pin(url) }
            #expect(problem?.kind == .pinsFull)
            let pins = try await fixture.engine.pins.list(PageQuery(), fixture.scope)
            #expect(pins.items.map(\.state) == [.tooLarge])
            #expect(fixture.upstream.asked.all.count == 1)
        }
    }

    @Test("The room that a user's pins leave has the pins of others fetched once in a while")
    func roomOfAnother() async throws {
        let setup = try EngineSetup.with { $0.store.pinsMaxBytes = ByteSize(bytes: 100_000) }
        try await EngineFixture.run(setup) { fixture in
            let (url, other) = (try fixture.url("/a"), try fixture.url("/b"))
            let long = "[\"" + String(repeating: "x", count: 120_000) + "\"]"
            fixture.upstream.answerOthers { $0.url == other ? .json(long) : .json("[1]") }
            let bob = Scope.own(uid: 1_001, account: .default)
            _ = await #expect(throws: Problem.self) { try await fixture.pin(other, as: bob) }
            let (id, start) = (try EntryID(url), fixture.clock.monotonic())
            for _ in 0..<3 {
                _ = try await fixture.pin(url)
                #expect(try await fixture.engine.pins.unpin(id, fixture.scope))
            }
            func asked() -> Int { fixture.upstream.asked.all.count { $0.url == other } }
            while asked() < 2 {
                for _ in 0..<100 { await Task.yield() }
                fixture.clock.advance(by: .seconds(1))
            }
            #expect(asked() == 2)
            #expect(fixture.clock.monotonic() - start >= Limits.pinRetryMax)
        }
    }

    @Test("A pin that had no room is asked for again at the next start, which may give it room")
    func roomAtStart() async throws {
        let setup = try EngineSetup.with { $0.store.pinsMaxBytes = ByteSize(bytes: 2_000) }
        var left: TemporaryStore?
        try await EngineFixture.run(setup) { fixture in
            let url = try fixture.url("/a")
            let long = "[\"" + String(repeating: "x", count: 4_000) + "\"]"
            fixture.upstream.answer(url, with: .json(long))
            _ = await #expect(throws: Problem.self) { try await fixture.pin(url) }
            left = fixture.temporary
        }
        try left?.open()
        try await EngineFixture.run(setup, on: left) { fixture in
            let url = try fixture.url("/a")
            #expect(try await fixture.upstream.asked.element(0).url == url)
        }
    }

    @Test("A user's new credential has no pin of another user fetched again")
    func credentialOfAnother() async throws {
        let (url, other) = (try fixture.url("/a"), try fixture.url("/b"))
        let bob = Scope.own(uid: 1_001, account: .default)
        fixture.upstream.answerOthers { _ in .reply(status: 403) }
        _ = await #expect(throws: Problem.self) { try await fixture.pin(other, as: bob) }
        _ = await #expect(throws: Problem.self) { try await fixture.pin(url) }
        let (name, command) = (try OriginName("example"), CredentialCommand(value: "secret"))
        _ = try await fixture.engine.credentials.set(command, at: name, fixture.scope)
        #expect(try await fixture.upstream.asked.element(2).url == url)
        let bobs = fixture.engine.store.key(for: bob)
        let pins = try await fixture.engine.pins.list(PageQuery(), bobs)
        #expect(pins.items.map(\.state) == [.failed])
        #expect(fixture.upstream.asked.all.count { $0.url == other } == 1)
    }
}
