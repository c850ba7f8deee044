import LarderJSON
import LarderModel
import LarderStore
import LarderTestSupport
import LarderWire
import Testing

@testable import LarderEngine

/// Neither the content that a client has seen goes back, nor its revision (P-14).
@Suite("Revisions of what writes show", .timeLimit(.minutes(5)), .sharedEngine)
struct ShownRevisionTests {
    private let fixture = EngineFixture.running
    private let alice = EngineFixture.scope
    private let bob = Scope.own(uid: 2_000, account: .default)

    private func write(_ url: WebURL, _ effect: String, _ id: String) async throws {
        let effect = try Effect.json(effect)
        try await fixture.write(.url(url), effect, id: id, hold: .seconds(3_600), as: alice)
    }

    @Test("A put whose shared row is deleted since has no earlier revision than the deletion")
    func deletedUnderPut() async throws {
        let url = try fixture.url("/a")
        try await fixture.cache(url, .json("[1]"), as: bob)
        try await write(url, #"{"type":"put","value":[2]}"#, "one")
        try await fixture.cache(url, .reply(status: 404), as: bob)
        #expect(try fixture.view(url, alice) == "[2]")
        #expect(try fixture.shownRevision(url, alice) >= fixture.shownRevision(url, bob))
    }
}

extension EngineFixture {
    fileprivate func shownRevision(_ url: WebURL, _ scope: Scope) throws -> Revision {
        let reader = try engine.store.makeReader()
        defer { reader.endTransaction() }
        let shown = try engine.view(of: EntryID(url), for: key(scope), reader, now: clock.now()) {
            row,
            _ in
            row.entry()
        }
        return try #require(shown?.entry).revision
    }
}
