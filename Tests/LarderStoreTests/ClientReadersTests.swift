import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("Readers for client requests", .timeLimit(.minutes(1)))
struct ClientReadersTests {
    private func rows(_ store: Store, as reading: Reading) async throws -> Int {
        let filter = RowFilter(.one(store.key(for: .first)))
        return try await Reading.$current.withValue(reading) {
            try await store.read { reader throws(StoreError) in
                try reader.lists.page(filter, order: .id, after: nil, limit: 10).count
            }
        }
    }

    @Test("While clients hold every reader, modifiers are sent and settled, and the check answers")
    func heldReaders() async throws {
        let temporary = try TemporaryStore()
        let store = temporary.store
        try await temporary.answer("https://a/1", "[1]")
        let number = try await temporary.accept("m-1", "https://a/1")
        #expect([Reading.User].all.count == Limits.clientReadersMax)
        try await store.holdingReaders(by: .all) {
            try await store.check()
            let read = try await Reading.$current.withValue(.sending) {
                try await (
                    store.modifiers.withTargets(number), store.modifiers.unsettled(after: nil)
                )
            }
            #expect(read.0?.1.count == 1 && read.1.count == 1)
            #expect(try await store.modifiers.send(number) != nil)
            try await temporary.confirm(number, "[2]")
            #expect(!store.modifiers.isTarget(temporary.scope, named("https://a/1")))
            try await store.check()
        }
        #expect(try await temporary.text("https://a/1") == "[2]")
    }

    @Test("A user whose reads use their share of the readers does not delay another user's list")
    func share() async throws {
        let temporary = try TemporaryStore()
        let store = temporary.store
        try await temporary.put("a", [1])
        let share = Array(repeating: Reading.User.uid(1), count: Limits.clientReadersPerUserMax)
        try await store.holdingReaders(by: share) {
            let others = try await rows(store, as: .asked(by: .uid(2)))
            let daemon = try await rows(store, as: .asked(by: .daemon))
            #expect([others, daemon] == [1, 1])
        }
        #expect(try await rows(store, as: .asked(by: .uid(1))) == 1)
    }

    @Test("A part of a large body waits for its user's own reads, and delays no other user")
    func chunks() async throws {
        let temporary = try TemporaryStore()
        let (store, scope, id) = (temporary.store, temporary.scope, named("large"))
        try await temporary.upload("large", .pattern(200_000))
        let body = try #require(try await store.chunkedBody(scope, id))
        let (areHeld, ended) = (Gate(), Recorder<UInt32>())
        @Sendable func read(by uid: UInt32) async throws {
            try await Reading.$current.withValue(.asked(by: .uid(uid))) {
                let reader = try await store.bodies.open(body, of: scope, id, now: .epoch)
                let chunk = try await reader?.next()
                #expect(chunk?.isEmpty == false)
            }
            ended.record(uid)
        }
        @Sendable func readWhileHeld() async throws {
            try await areHeld.wait()
            try await read(by: 1)
        }
        let share = Array(repeating: Reading.User.uid(1), count: Limits.clientReadersPerUserMax)
        async let waiting: Void = readWhileHeld()
        try await store.holdingReaders(by: share) {
            areHeld.open()
            for _ in 0..<64 { try await read(by: 2) }
            #expect(ended.all == Array(repeating: 2, count: 64))
        }
        try await waiting
        #expect(ended.all.last == 1)
    }
}
