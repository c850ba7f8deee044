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
}
