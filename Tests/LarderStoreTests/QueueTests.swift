import LarderModel
import LarderNormalize
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderStore

@Suite("The modifier queue in its file")
struct QueueTests {
    private let temporary = TemporaryStore.new()

    // MARK: Bases

    @Test("Another modifier on a large base, or one less, does not write the base's bytes again")
    func writtenOnce() async throws {
        let state = temporary.store.stateFile
        try await temporary.answer("a", "\"" + String(repeating: "x", count: 60_000) + "\"")
        func written(_ step: () async throws -> Void) async throws -> Int64 {
            try await state.commits.checkpoint(.state, truncating: true)
            try await step()
            return DiskSpace.fileBytes(at: temporary.statePath + "-wal")
        }
        var accepted: [ModifierNumber] = []
        for n in 1...4 {
            let bytes = try await written {
                accepted.append(try await temporary.accept("m\(n)", "a"))
            }
            #expect(n == 1 ? bytes > 60_000 : bytes < 50_000, "accept \(n)")
        }
        for number in accepted {
            let bytes = try await written { try await temporary.confirm(number) }
            #expect(bytes < 60_000, "\(number)")
        }
    }

    @Test("A settled target is released from state.db only after cache.db has it synced")
    func givenBack() async throws {
        try await temporary.answer("a", "[1]")
        let number = try await temporary.accept("one", "a")
        try await temporary.confirm(number, "[2]")
        #expect(try temporary.target("a") == nil)
        #expect(try await temporary.text("a") == "[2]")
        #expect(try temporary.count("claim") == 1)
        try await temporary.store.maintain()
        #expect(try temporary.count("claim") == 0)
        #expect(try await temporary.text("a") == "[2]")
        // As after the power's loss: what was not written back to the file is gone.
        try temporary.crash { try $0.write("cache/cache.db-wal", []) }
        #expect(try await temporary.text("a") == "[2]")
    }

    @Test("A repetition of what is settled leaves the cache what it has")
    func repetitionAfterSettling() async throws {
        try await temporary.answer("a", "[1]")
        let number = try await temporary.accept("one", "a")
        try await temporary.confirm(number)
        try await temporary.store.maintain()
        #expect(try temporary.count("claim") == 0)
        try await temporary.accept("one", "a")
        try await temporary.store.settle()
        #expect(try await temporary.text("a") == "[1]")
        #expect(try FileAudit(temporary.cachePath).entries == 1)
    }

    @Test("The row of an accepted modifier is known without reading it")
    func knownRow() async throws {
        let (store, now) = (temporary.store, Timestamp(milliseconds: 7))
        let parent = try await temporary.accept("parent", "p")
        var full = NewModifier.changing(["a", "b"], "full", temporary.scope)
        full.request.headers.set("X-Of", "it")
        full.request.mediaType = "application/json"
        full.lane = try LaneName("uploads")
        full.dependsOn = [parent]
        full.holdUntil = Timestamp(milliseconds: 9)
        full.expiresAt = Timestamp(milliseconds: 11)
        full.attemptsMax = 3
        full.afterUnknown = .resend
        (full.ifMatch, full.onConflict) = (.strict, .client)
        full.key = "key"
        full.client = ClientTag(text: "1000:tag")
        let new = [NewModifier.changing(["c"], "plain", temporary.scope), full]
        let acceptances = try await store.modifiers.accept(new, now: now)
        for (modifier, acceptance) in zip(new, acceptances) {
            let whole = try #require(try await store.modifiers.whole(acceptance.number))
            #expect(StoredModifier(modifier, acceptance, at: now) == whole.modifier)
        }
        let again = try await store.modifiers.accept(new, now: now)
        #expect(zip(new, again).allSatisfy { StoredModifier($0, $1, at: now) == nil })
    }

    @Test(
        "Of an overtaken answer the members are stored that no write has touched (case 8)",
        arguments: [1, 2 * Limits.inlineBodyBytesMax]
    )
    func overtaken(length: Int) async throws {
        let (uses, text) = (Recorder<AnswerFence.Use>(), String(repeating: "x", count: length))
        let fence = AnswerFence(
            touched: { _, _ in .counted },
            used: { uses.record($0) }
        )
        let answer = #"{"n":9,"text":"\#(text)"}"#
        try await temporary.answer("a", answer, fence: fence)
        #expect(try await temporary.text("a") == nil, "nothing is known of the number")
        try await temporary.answer("a", #"{"n":1,"old":2}"#)
        for isTargeted in [false, true] {
            if isTargeted { try await temporary.accept("one", "a") }
            try await temporary.answer("a", answer, fence: fence)
            #expect(try await temporary.text("a") == #"{"n":1,"text":"\#(text)"}"#)
        }
        #expect(uses.all == [.nothing, .rest, .rest])
        try await temporary.store.maintain()
        try await temporary.store.requireInvariants()
    }

    @Test("An answer whose request precedes a write is not stored, in either file")
    func fence() async throws {
        let isKeptOut = Mutex(0)
        let fence = AnswerFence(
            touched: { _, id in id == named("a") ? .all : .none },
            used: { _ in isKeptOut.withLock { $0 += 1 } }
        )
        #expect(try await temporary.answer("a", "1", fence: fence).isSame)
        #expect(try await temporary.text("a") == nil)
        #expect(isKeptOut.withLock { $0 } == 1)
        try await temporary.answer("b", "1", fence: fence)
        #expect(try await temporary.text("b") == "1")
        #expect(isKeptOut.withLock { $0 } == 1)
        let number = try await temporary.accept("one", "a")
        try await temporary.answer("a", "2")
        #expect(try await temporary.answer("a", "3", fence: fence).isSame)
        #expect(try await temporary.text("a") == "2")
        try await temporary.confirm(number, "[9]")
        let receipt = try await temporary.answer("a", "4", fence: fence)
        #expect(receipt.isSame)
        #expect(try await temporary.text("a") == "[9]")
        try await temporary.store.maintain()
        #expect(try await temporary.answer("a", "5", fence: fence).isSame)
        #expect(try await temporary.text("a") == "[9]")
    }

    // MARK: Accept

    @Test("Accepted modifiers are there after a crash, whole and in order")
    func crash() async throws {
        let first = try await temporary.accept("one", "a", effect: "1")
        let second = try await temporary.accept("two", "a", "b", effect: "2")
        #expect(first < second)
        try temporary.crash()
        let found = try await temporary.store.modifiers.unsettled(after: nil)
        #expect(found.map(\.number) == [first, second])
        #expect(try temporary.target("a")?.1 == ["one", "two"])
        let whole = try #require(try await temporary.store.modifiers.whole(second))
        #expect(whole.body == [1, 2, 3] && whole.request.method == "PATCH")
        #expect(whole.modifier.targets == [named("a"), named("b")])
        #expect(whole.changes.map(\.effect) == [[50], [50]])
        #expect(whole.modifier.state == .queued && whole.modifier.round == 1)
        #expect(temporary.store.modifiers.totals.byState == [.queued: 2])
    }

    @Test("While an accept is under way its target is shown as it was before")
    func notYet() async throws {
        try await temporary.answer("a", "[1]")
        let index = temporary.store.shared.residency
        // As far as an accept has come before its commit.
        let name = TargetName(temporary.scope, named("a"))
        index.insert(name)
        index.change(name) { $0.targets += 1 }
        #expect(try temporary.target("a") == nil)
        #expect(try await temporary.text("a") == "[1]")
    }

    @Test("The same modifier again is the same one, also when it is settled; another is refused")
    func idempotent() async throws {
        let number = try await temporary.accept("one", "a")
        #expect(try await temporary.accept("one", "a") == number)
        #expect(try temporary.target("a")?.1 == ["one"])
        await #expect(throws: StoreError.modifierExists) {
            try await temporary.accept("one", "a", effect: "other")
        }
        let other = temporary.store.key(for: .own(uid: 1_001, account: .default))
        #expect(try await temporary.accept("one", "a", in: other) > number)
        try await temporary.confirm(number)
        #expect(try await temporary.accept("one", "a") == number)
        #expect(try temporary.target("a") == nil)
        #expect(temporary.store.modifiers.totals.unsettled == 1)
        try await temporary.store.maintain()
        #expect(try temporary.count("claim") == 1)
    }

    @Test("A batch is accepted as a whole or not at all")
    func batch() async throws {
        let scope = temporary.scope
        try await temporary.accept("taken", "a")
        let new = ["new", "taken"].map { NewModifier.changing(["b"], $0, scope, effect: $0) }
        await #expect(throws: StoreError.modifierExists) {
            try await temporary.store.modifiers.accept(new, now: .epoch)
        }
        #expect(try temporary.target("b") == nil)
        #expect(try temporary.count("modifier") == 1)
        #expect(try temporary.count("claim") == 1)
    }

    @Test("The queue takes so many modifiers and bytes, and of one user a share once there are two")
    func full() async throws {
        let temporary = try TemporaryStore(configure: {
            $0.queue.maxModifiers = 8
            $0.queue.maxBytes = 100_000
        })
        let store = temporary.store
        for number in 0..<5 { try await temporary.accept("m\(number)", "a") }
        let other = store.key(for: .own(uid: 1_001, account: .default))
        try await temporary.accept("other", "a", in: other)
        await #expect(throws: StoreError.queueFull(.modifiers, limit: 4)) {
            try await temporary.accept("more", "a")
        }
        try await temporary.accept("other2", "a", in: other)
        #expect(store.modifiers.totals.isNearlyFull)
        let large = NewModifier.changing(["c"], "large", other, body: .pattern(100_000))
        await #expect(throws: StoreError.queueFull(.bytes, limit: 100_000)) {
            try await store.modifiers.accept([large], now: .epoch)
        }
        #expect(try temporary.target("c", in: other) == nil)
        #expect(store.modifiers.totals.unsettled == 7)
        let bytes = try temporary.stateInteger(
            "SELECT (SELECT sum(size) FROM modifier) + (SELECT sum(size) FROM claim)"
        )
        #expect(store.modifiers.totals.bytes == bytes)
        try temporary.crash()
        #expect(temporary.store.modifiers.totals.bytes == bytes)
    }

    @Test("Waiting modifiers are accepted in one transaction, and a refused one delays none")
    func groupCommit() async throws {
        let (queue, scope) = (temporary.store.commits, temporary.scope)
        try await temporary.accept("taken", "a")
        let verdicts = Recorder<Bool>()
        let gate = WriterGate()
        queue.post { _ throws(StoreError) in gate.hold() }
        try await gate.waitUntilHeld()
        let before = queue.groupSizes.count
        for number in 0..<64 {
            let new = NewModifier.changing(
                ["t\(number)"],
                number == 30 ? "taken" : "m\(number)",
                scope,
                effect: "\(number)"
            )
            queue.post { writer throws(StoreError) in
                switch try writer.accepting.accept([new], now: .epoch) {
                case .done: verdicts.record(true)
                case .refused, .needs: verdicts.record(false)
                }
            }
        }
        gate.letGo()
        try await temporary.store.settle()
        #expect(verdicts.all.count == 64 && verdicts.all.count { !$0 } == 1)
        #expect(try temporary.count("modifier") == 64)
        // The one that was held, the 64 in one, and what was asked twice to see the end.
        #expect(queue.groupSizes.count <= before + 4)
    }
}
