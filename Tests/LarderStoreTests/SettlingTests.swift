import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("How modifiers leave the queue")
struct SettlingTests {
    private let temporary = TemporaryStore.new()

    private func dead(_ number: ModifierNumber, _ reason: ModifierReason = .refused) -> Settlement {
        Settlement(
            number: number,
            outcome: .failed(reason) { _, base in
                LostView(before: [1], after: base.text.map { Array($0.utf8) })
            },
            answer: StoredAnswer(status: 422, headers: HeaderFields(), body: [7], at: nil)
        )
    }

    @Test("The file keeps the newest rows of a user that are to be read")
    func wantedReads() async throws {
        let (store, most) = (temporary.store, Limits.wantedReadsMax + Limits.wantedReadsSlack)
        let new = (0..<most + 200).map { number in
            NewModifier.changing(["row\(number)"], "m\(number)", temporary.scope)
        }
        let settlements = try await store.modifiers.accept(new, now: .epoch).map { accepted in
            var settlement = Settlement(
                number: accepted.number,
                outcome: .confirmed { _, _ in .keep }
            )
            settlement.isReadAgain = true
            return settlement
        }
        try await store.modifiers.settle(settlements, now: .epoch)
        let wanted = try await store.modifiers.wantedReads().map(\.id)
        #expect((Limits.wantedReadsMax...most).contains(wanted.count))
        #expect(wanted.last == named("row\(most + 199)"))
        #expect(!wanted.contains(named("row0")))
    }

    @Test("Steps between are written down, and change nothing in what is settled")
    func steps() async throws {
        let store = temporary.store
        let number = try await temporary.accept("one", "a")
        #expect(try await store.modifiers.send(number) != nil)
        #expect(store.modifiers.totals.byState == [.inFlight: 1])
        var update = ModifierUpdate(
            number,
            .retryWait,
            nextAttemptAt: Timestamp(milliseconds: 5_000),
            isStalled: true
        )
        update.answer = StoredAnswer(
            status: 503,
            headers: HeaderFields(),
            body: [1],
            at: Timestamp(milliseconds: 7)
        )
        #expect(try await store.modifiers.update(update)?.from == .inFlight)
        #expect(store.modifiers.totals.stalled == 1)
        #expect(try await store.modifiers.update(update)?.from == .retryWait)
        #expect(store.modifiers.totals.stalled == 1)
        try temporary.crash()
        #expect(temporary.store.modifiers.totals.stalled == 1)
        let whole = try #require(try await temporary.store.modifiers.whole(number))
        #expect(whole.modifier.state == .retryWait && whole.modifier.attempts == 1)
        #expect(whole.modifier.nextAttemptAt == Timestamp(milliseconds: 5_000))
        #expect(whole.modifier.isStalled && whole.modifier.mayHaveLeft)
        #expect(whole.answer?.status == 503 && whole.answer?.body == [1])
        #expect(whole.answer?.at == Timestamp(milliseconds: 7))
        try await temporary.confirm(number)
        #expect(temporary.store.modifiers.totals.stalled == 0)
        #expect(try await temporary.store.modifiers.send(number) == nil)
        #expect(try await temporary.store.modifiers.update(update) == nil)
        #expect(try await temporary.store.modifiers.whole(number) == nil)
    }

    @Test("The base of the first send step outlives repeats and a crash (case 6)")
    func sentBase() async throws {
        try await temporary.answer("a", #"{"n":1}"#)
        let add = #"{"type":"add","value":{"/n":1}}"#
        let number = try await temporary.accept("one", "a", effect: add)
        func sent() async throws -> [UInt8]? {
            _ = try await temporary.store.modifiers.send(number)
            return try await temporary.store.modifiers.whole(number)?.changes[0].sent
        }
        let first = try #require(try await sent())
        try await temporary.answer("a", #"{"n":2}"#)
        try temporary.crash()
        #expect(try await sent() == first)
        // Nothing was counted, so nothing can have been applied.
        _ = try await temporary.store.modifiers.update(ModifierUpdate(number, .queued, attempts: 0))
        let second = try #require(try await sent())
        #expect(second != first)
        try await temporary.answer("a", #"{ "n": 1.0 }"#)
        _ = try await temporary.store.modifiers.update(ModifierUpdate(number, .queued, attempts: 0))
        #expect(try await sent() == first)
    }

    @Test("Modifiers that wait for a person are counted by user, also after a crash")
    func waitingForPerson() async throws {
        let number = try await temporary.accept("one", "a")
        #expect(temporary.store.modifiers.totals.waitingForPerson == [:])
        let now = Timestamp(milliseconds: 1)
        _ = try await temporary.store.modifiers.settle([dead(number)], now: now)
        let counted = temporary.store.modifiers.totals.waitingForPerson
        #expect(counted.values.map { $0 } == [[.failed: 1]])
        try temporary.crash()
        #expect(temporary.store.modifiers.totals.waitingForPerson == counted)
    }

    @Test("An attempt is a repeat unless each earlier one was answered as not applied (case 22)")
    func repeats() async throws {
        let number = try await temporary.accept("one", "a")
        func isRepeat(
            after state: ModifierState,
            attempts: Int,
            notApplied: Int
        ) async throws -> Bool {
            let update = ModifierUpdate(
                number,
                state,
                attempts: attempts,
                answersNotApplied: notApplied
            )
            #expect(try await temporary.store.modifiers.update(update) != nil)
            let waiting = try await temporary.store.modifiers.whole(number)
            #expect(waiting?.modifier.isRepeat == false)
            #expect(try await temporary.store.modifiers.send(number) != nil)
            try temporary.crash()
            let sent = try await temporary.store.modifiers.whole(number)
            return try #require(sent).modifier.isRepeat
        }
        #expect(try await !isRepeat(after: .queued, attempts: 0, notApplied: 0))
        #expect(try await !isRepeat(after: .retryWait, attempts: 1, notApplied: 1))
        #expect(try await isRepeat(after: .unknown, attempts: 2, notApplied: 1))
        #expect(try await isRepeat(after: .retryWait, attempts: 3, notApplied: 2))
        #expect(try await isRepeat(after: .authWait, attempts: 3, notApplied: 2))
    }

    @Test("A settlement makes its base of what it is then, and is done once")
    func confirmed() async throws {
        try await temporary.answer("a", "[1]")
        let number = try await temporary.accept("one", "a")
        let later = try await temporary.accept("two", "a")
        try await temporary.answer("a", "[2]")
        let outcome = Settlement.Outcome.confirmed { id, base in
            let bytes = Array("{\"was\":\(base.text ?? "")}".utf8)
            return .put(.fetched(id, bytes), bytes)
        }
        try await temporary.end(number, outcome)
        let last = temporary.store.changes.last
        let target = try #require(try temporary.target("a"))
        #expect(target.base == "{\"was\":[2]}" && target.1 == ["two"])
        try await temporary.end(number, outcome)
        #expect(temporary.store.changes.last == last)
        #expect(try temporary.target("a")?.base == "{\"was\":[2]}")
        let history = try await temporary.store.modifiers.history(
            of: .one(temporary.scope),
            before: nil,
            limit: 9
        )
        #expect(history.map(\.number) == [number] && history[0].outcome == .confirmed)
        try await temporary.end(later, .cancelled)
        // What depends on one that is only in the history by now, as after a crash.
        #expect(try await temporary.store.modifiers.hasFailed(number) == false)
        #expect(try await temporary.store.modifiers.hasFailed(later))
        #expect(temporary.store.modifiers.totals.byState == [:])
        try await temporary.store.maintain()
        #expect(temporary.store.modifiers.totals.bytes == 0)
        #expect(try await temporary.text("a") == "{\"was\":[2]}")
    }

    @Test("Of several that are settled in one, each sees what the one before has made")
    func severalInOne() async throws {
        try await temporary.answer("a", "1")
        var settlements: [Settlement] = []
        for name in ["one", "two"] {
            let number = try await temporary.accept(name, "a")
            settlements.append(
                Settlement(
                    number: number,
                    outcome: .confirmed { id, base in
                        let bytes = Array("[\(base.text ?? "")]".utf8)
                        return .put(.fetched(id, bytes), bytes)
                    }
                )
            )
        }
        _ = try await temporary.store.modifiers.settle(settlements, now: .epoch)
        #expect(try await temporary.text("a") == "[[1]]")
    }

    @Test("A dead letter keeps its answer and both views, is counted, dropped, or sent again")
    func deadLetter() async throws {
        let (store, scope) = (temporary.store, temporary.scope)
        try await temporary.answer("a", "[1]")
        let number = try await temporary.accept("one", "a")
        _ = try await store.modifiers.settle([dead(number)], now: .epoch)
        #expect(try await temporary.text("a") == "[1]")
        #expect(store.modifiers.totals.byState == [.failed: 1])
        let reader = try store.makeReader()
        #expect(try reader.targets.deadLetters(scope, named("a")) == 1)
        let whole = try #require(try await store.modifiers.whole(number))
        #expect(whole.modifier.state == .failed && whole.modifier.reason == .refused)
        #expect(whole.answer?.body == [7] && whole.changes[0].before == [1])
        #expect(whole.changes[0].after == Array("[1]".utf8))
        try await store.maintain()
        #expect(try temporary.count("claim") == 0)
        let next = try await temporary.retry(number)
        #expect(next > number)
        #expect(try temporary.target("a")?.base == "[1]")
        #expect(try temporary.target("a")?.1 == ["one"])
        #expect(try await store.modifiers.whole(next)?.modifier.round == 2)
        #expect(try await temporary.accept("two", "a") > next)
        _ = try await store.modifiers.settle([dead(next)], now: .epoch)
        #expect(try await store.modifiers.drop(next, of: scope, now: .epoch))
        #expect(try await store.modifiers.hasFailed(next))
        #expect(try await store.modifiers.drop(next, of: scope, now: .epoch) == false)
        #expect(try reader.targets.deadLetters(scope, named("a")) == 0)
        #expect(store.modifiers.totals.byState == [.queued: 1])
        let bytes = try temporary.stateInteger(
            """
            SELECT (SELECT sum(size) FROM modifier) + (SELECT sum(size) FROM claim)
                + (SELECT sum(length(answer_body)) FROM history)
            """
        )
        #expect(store.modifiers.totals.bytes == bytes)
    }

    @Test("A modifier sent again depends only on its parents that were sent again")
    func deadDependants() async throws {
        let (store, scope) = (temporary.store, temporary.scope)
        let first = try await temporary.accept("first", "a")
        let second = try await temporary.accept("second", "b")
        var child = NewModifier.changing(["c"], "child", scope)
        child.dependsOn = [first, second]
        let third = try await store.modifiers.accept([child], now: .epoch)[0].number
        _ = try await store.modifiers.settle([first, second, third].map { dead($0) }, now: .epoch)
        let again = try await temporary.retry(second)
        let revived = try await temporary.retry(third)
        #expect(try await store.modifiers.whole(revived)?.modifier.dependsOn == [again])
    }

    @Test("An unreadable modifier is found, kept as it is, and fails as unreadable")
    func unreadable() async throws {
        let number = try await temporary.accept("one", "a")
        let other = try await temporary.accept("two", "a")
        try temporary.changeState(
            "UPDATE modifier SET state = 'levitating' WHERE number = \(number)"
        )
        try temporary.crash()
        let found = try await temporary.store.modifiers.unsettled(after: nil)
        #expect(found.map(\.number) == [number, other] && found[0] == .unreadable(number))
        try await temporary.store.modifiers.failUnreadable([number], now: .epoch)
        let whole = try #require(try await temporary.store.modifiers.whole(number))
        #expect(whole.modifier.reason == .unreadable && whole.body == [1, 2, 3])
        #expect(try temporary.target("a")?.1 == ["two"])
        #expect(temporary.store.modifiers.totals.byState == [.failed: 1, .queued: 1])
        try await temporary.confirm(other)
        try await temporary.store.maintain()
        #expect(try temporary.count("claim") == 0)
    }

    @Test("As many settled ones are remembered as the configuration says")
    func history() async throws {
        let temporary = try TemporaryStore(configure: { $0.queue.history = 3 })
        for number in 0..<5 {
            try await temporary.confirm(try await temporary.accept("m\(number)", "a"))
        }
        let page = try await temporary.store.modifiers.history(of: .all, before: nil, limit: 9)
        #expect(page.map(\.id) == ["m4", "m3", "m2"])
        let rest = try await temporary.store.modifiers.history(
            of: .user(1_000),
            before: page[1].place,
            limit: 9
        )
        #expect(rest.map(\.id) == ["m2"])
    }

    @Test("The history says what was changed, by which request, and after how many attempts")
    func historyRows() async throws {
        let (store, scope) = (temporary.store, temporary.scope)
        let number = try await temporary.accept("one", "b", "a")
        _ = try await store.modifiers.send(number)
        _ = try await store.modifiers.settle([dead(number)], now: .epoch)
        let again = try await temporary.retry(number)
        _ = try await store.modifiers.send(again)
        _ = try await store.modifiers.send(again)
        try await temporary.confirm(again)
        let ids = (1...20).map { "t\($0)" }
        let new = NewModifier.changing(ids, "many", scope)
        let many = try await store.modifiers.accept([new], now: .epoch)[0].number
        try await temporary.end(many, .cancelled)
        try temporary.crash()
        let rows = try await temporary.store.modifiers.history(of: .all, before: nil, limit: 9)
        #expect(rows.map(\.outcome) == [.cancelled, .confirmed])
        #expect(rows.map { $0.targets.map(\.text) } == [Array(ids.prefix(16)), ["b", "a"]])
        #expect(rows.map(\.attempts) == [0, 2])
        #expect(rows.map(\.idempotencyKey) == ["many", "one.2"])
        #expect(rows.map(\.bodyByteCount) == [3, 3])
    }

    @Test("Of what an earlier version has settled the history says what is known")
    func earlierHistory() async throws {
        try await temporary.confirm(try await temporary.accept("one", "a"))
        try temporary.changeState(
            "UPDATE history SET targets = NULL, attempts = NULL, key = NULL, bytes = NULL"
        )
        try temporary.crash()
        let rows = try await temporary.store.modifiers.history(of: .all, before: nil, limit: 9)
        #expect(rows.map(\.id) == ["one"])
        #expect(rows.map(\.targets) == [[]] && rows.map(\.attempts) == [0])
        #expect(rows.map(\.idempotencyKey) == ["one"])
    }

    @Test("Lanes that were paused stay so until they are resumed")
    func lanes() async throws {
        let (store, scope) = (temporary.store, temporary.scope)
        try await store.modifiers.setPaused(scope, .name(try LaneName("cart")), true)
        try await store.modifiers.setPaused(scope, .id(named("a")), true)
        try await store.modifiers.setPaused(scope, .id(named("a")), false)
        try temporary.crash()
        let lanes = try await temporary.store.modifiers.pausedLanes()
        #expect(lanes.map(\.lane.description) == ["name:cart"])
    }
}
