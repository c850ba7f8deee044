import LarderModel
import LarderStore
import LarderTestSupport
import Testing

@testable import LarderEngine

@Suite("The table of followers")
struct FollowerTableTests {
    @Test("A user may have many followers, not more, and another user as many")
    func bound() async throws {
        let temporary = try TemporaryStore()
        let first = temporary.store.key(for: .own(uid: 1_000, account: .default))
        let account = try AccountName("work")
        let work = temporary.store.key(for: .own(uid: 1_000, account: account))
        let other = temporary.store.key(for: .own(uid: 1_001, account: .default))
        let table = FollowerTable(maxBytes: 1_000)
        #expect(Limits.followersPerUserMax >= 500)
        for _ in 0..<Limits.followersPerUserMax {
            #expect(table.add(first))
        }
        #expect(!table.add(first))
        #expect(!table.add(work))
        #expect(table.add(other))
        table.remove(first)
        #expect(table.add(work))
        #expect(table.count == Limits.followersPerUserMax + 1)
    }

    @Test("A user's held rows end at half of the cache; a row given back makes room")
    func share() async throws {
        let temporary = try TemporaryStore()
        let scope = temporary.store.key(for: .own(uid: 1_000, account: .default))
        let other = temporary.store.key(for: .own(uid: 1_001, account: .default))
        let table = FollowerTable(maxBytes: 1_000)
        let (a, b) = (try EntryID("a"), try EntryID("b"))
        for scope in [scope, scope, other] { #expect(table.add(scope)) }
        #expect(table.hold(scope, a, bytes: 300, in: scope))
        #expect(!table.hold(scope, b, bytes: 201, in: scope))
        #expect(table.hold(other, b, bytes: 201, in: other))
        #expect(table.hold(scope, b, bytes: 200, in: scope))
        #expect(table.holders(of: b, in: scope) == 1)
        table.letGo(scope, a, bytes: 300, in: scope)
        #expect(table.hold(scope, b, bytes: 300, in: scope))
        #expect(table.holders(of: a, in: scope) == 0)
        #expect(table.holders(of: b, in: scope) == 2)
    }

    @Test("Frames of a user that wait end at a share; a frame that is taken makes room")
    func frames() throws {
        let (scope, other) = (EngineFixture.scope, Scope.own(uid: 1_001, account: .default))
        let table = FollowerTable(maxBytes: 1_000)
        let first = table.holdFrame(of: scope, bytes: Limits.heldBytesPerUserMax - 1)
        #expect(first != nil)
        #expect(table.holdFrame(of: scope, bytes: 2) == nil)
        let others = table.holdFrame(of: other, bytes: 2)
        #expect(others != nil)
        first?.end()
        let second = table.holdFrame(of: scope, bytes: Limits.heldBytesPerUserMax)
        #expect(second != nil)
    }
}
