import Glibc
import LarderAPI
import LarderJSON
import LarderModel
import LarderNormalize
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

    @Test("A cancelled write of a URL of which nothing is known has a later revision follow")
    func withoutBase() async throws {
        let url = try fixture.url("/a")
        try await write(url, #"{"type":"merge","value":{"a":1}}"#, "one")
        try await write(url, #"{"type":"merge","value":{"a":2}}"#, "two")
        let seen = try fixture.shownRevision(url, alice)
        try await fixture.cancel("two")
        #expect(try fixture.view(url, alice) == #"{"a":1}"#)
        #expect(try fixture.shownRevision(url, alice) > seen)
    }

    @Test("A put of a deleted shared row, and a deletion after it, have revisions that go on")
    func onTombstone() async throws {
        let url = try fixture.url("/a")
        try await fixture.cache(url, .reply(status: 404), as: bob)
        let deleted = try fixture.shownRevision(url, alice)
        try await write(url, #"{"type":"put","value":[1]}"#, "one")
        let put = try fixture.shownRevision(url, alice)
        #expect(put > deleted)
        try await write(url, #"{"type":"delete"}"#, "two")
        #expect(try fixture.view(url, alice) == "")
        #expect(try fixture.shownRevision(url, alice) > put)
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

    @Test("An entity with a write has a later revision under its own URL once the answer is gone")
    func entityAtURL() async throws {
        let setup = try EngineSetup.with { $0.origin.normalize = userRules }
        let user = #"{"type":"User","id":7,"name":"Ann"}"#
        for isEvicted in [true, false] {
            let url = try fixture.url("/users/7")
            var (left, seen) = (TemporaryStore?.none, Revision(0))
            try await EngineFixture.run(setup) { fixture in
                left = fixture.temporary
                try await fixture.cache(fixture.url("/users"), .json("[\(user)]"))
                let effect = try Effect.json(#"{"type":"merge","value":{"name":"Bea"}}"#)
                try await fixture.write(.entity("User:7"), effect, hold: .seconds(3_600))
                try await fixture.cache(url, .json(user))
                seen = try fixture.shownRevision(url, alice)
                guard isEvicted else { return }
                let command = EvictOrder(.ids([try EntryID(url)]))
                let report = try await fixture.engine.eviction.evict(command, .one(fixture.scope))
                #expect(report.evicted == 1)
                #expect(try fixture.shownRevision(url, alice) >= seen)
            }
            let temporary = try #require(left)
            for end in ["", "-wal", "-shm"] { unlink(temporary.cachePath + end) }
            try temporary.open()
            try await EngineFixture.run(setup, on: temporary) { fixture in
                let shown = try fixture.shownRevision(url, alice)
                #expect(shown >= seen)
            }
        }
    }

    @Test("An evicted entity leaves no earlier deletion at its URL", arguments: [true, false])
    func evictedEntity(isDeleted: Bool) async throws {
        try await EngineFixture.run(.with { $0.origin.normalize = userRules }) { fixture in
            let url = try fixture.url("/users/7")
            try await fixture.cache(url, .reply(status: 404))
            let users = #"[{"type":"User","id":7,"name":"Ann"}]"#
            try await fixture.cache(fixture.url("/users"), .json(users))
            let shown = try fixture.view(url, alice)
            #expect(shown?.contains("Ann") == true)
            if isDeleted {
                fixture.upstream.answer(url, with: .reply(status: 204))
                let id = try await fixture.write(.entity("User:7"), .delete)
                #expect(try await fixture.settled(id).state == .confirmed)
                // The row goes to the cache.
                try await fixture.engine.store.maintain()
                #expect(try fixture.view(url, alice) == "")
            }
            let order = EvictOrder(.ids([try .entity("User:7")]))
            _ = try await fixture.engine.eviction.evict(order, .one(fixture.scope))
            #expect(try fixture.view(url, alice) == nil)
        }
    }

    @Test("A deleted URL has a later revision once a write of its evicted entity is cancelled")
    func unknownEntity() async throws {
        try await EngineFixture.run(.with { $0.origin.normalize = userRules }) { fixture in
            let url = try fixture.url("/users/7")
            try await fixture.cache(url, .reply(status: 404))
            let order = EvictOrder(.ids([try .entity("User:7")]))
            _ = try await fixture.engine.eviction.evict(order, .one(fixture.scope))
            #expect(try fixture.view(url, alice) == "")
            let effect = try Effect.json(#"{"type":"merge","value":{"name":"Bea"}}"#)
            let id = try await fixture.write(.entity("User:7"), effect, hold: .seconds(3_600))
            let shown = try fixture.view(url, alice)
            #expect(shown?.contains("Bea") == true)
            let seen = try fixture.shownRevision(url, alice)
            try await fixture.cancel(id.text)
            #expect(try fixture.view(url, alice) == "")
            let last = try fixture.shownRevision(url, alice)
            #expect(last > seen)
        }
    }

    @Test("A deleted URL that was pinned has a later revision once a write of its entity ends")
    func unpinnedURL() async throws {
        try await EngineFixture.run(.with { $0.origin.normalize = userRules }) { fixture in
            let (url, entity) = (try fixture.url("/users/7"), try EntryID.entity("User:7"))
            let id = try EntryID(url)
            try await fixture.cache(url, .json(#"{"type":"User","id":7,"name":"Ann"}"#))
            _ = try await fixture.engine.pins.pin(id, fixture.scope)
            try await fixture.cache(url, .reply(status: 404))
            let isUnpinned = try await fixture.engine.pins.unpin(id, fixture.scope)
            #expect(isUnpinned)
            let removed = try await fixture.engine.entries.remove(entity, fixture.scope)
            #expect(removed != nil)
            #expect(try fixture.view(url, alice) == "")
            // The tombstone is in `state.db` until maintenance moves it.
            let effect = try Effect.json(#"{"type":"merge","value":{"name":"Bea"}}"#)
            let write = try await fixture.write(.entity("User:7"), effect, hold: .seconds(3_600))
            let seen = try fixture.shownRevision(url, alice)
            try await fixture.cancel(write.text)
            #expect(try fixture.view(url, alice) == "")
            let last = try fixture.shownRevision(url, alice)
            #expect(last > seen)
        }
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
