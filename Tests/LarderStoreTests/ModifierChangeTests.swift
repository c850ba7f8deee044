import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("Watch events of modifiers")
struct ModifierChangeTests {
    private static let like = #"{"type":"merge","value":{"liked":true}}"#

    private let temporary: TemporaryStore
    private var store: Store { temporary.store }

    init() async throws {
        temporary = try TemporaryStore()
        try await temporary.answer("a", #"{"liked": false, "n": 1}"#)
    }

    /// What the log has from now on.
    private func told(by work: () async throws -> Void) async throws -> [String] {
        let before = store.changes.last.number
        try await work()
        return try await temporary.events(after: before).map(\.told)
    }

    private func settle(_ number: ModifierNumber, _ outcome: Settlement.Outcome) async throws {
        var settlement = Settlement(number: number, outcome: outcome)
        settlement.problem = Array(#"{"status":422}"#.utf8)
        _ = try await store.modifiers.settle([settlement], now: .epoch)
    }

    @Test("Accepting one tells what its targets show by it, and that it is queued")
    func accepted() async throws {
        let told = try await told {
            try await temporary.accept("one", "a", "new", effect: Self.like)
        }
        #expect(told == ["put a by modifier:one", "put new by modifier:one", "one queued a,new"])
    }

    @Test("An effect that changes nothing of what shows is no change of the target")
    func withoutEffect() async throws {
        let same = #"{"type":"set","value":{"set":{"/n":1.0}}}"#
        let told = try await told { try await temporary.accept("one", "a", effect: same) }
        #expect(told == ["one queued a"])
    }

    @Test("A view that is too large to compare counts as changed")
    func large() async throws {
        let large = String(repeating: "x", count: 200_000)
        let effect = #"{"type":"set","value":{"set":{"/x":"\#(large)"}}}"#
        let told = try await told {
            try await temporary.accept("one", "a", effect: effect)
            try await temporary.accept(
                "two",
                "a",
                effect: #"{"type":"set","value":{"set":{"/n":1.0}}}"#
            )
        }
        #expect(told == ["put a by modifier:one", "one queued a", "two queued a"])
        let more = try await self.told { try await temporary.accept("three", "a", effect: effect) }
        #expect(more == ["put a by modifier:three", "three queued a"])
    }

    @Test("An answer that equals the view is no change (case 4)")
    func equalAnswer() async throws {
        try await temporary.accept("one", "a", effect: Self.like)
        let told = try await told { try await temporary.answer("a", #"{"n":1,"liked":true}"#) }
        #expect(told == [])
        #expect(try temporary.target("a")?.base == #"{"n":1,"liked":true}"#)
    }

    @Test("An answer below modifiers is a change only if the view changes (case 3)")
    func hiddenAnswer() async throws {
        let number = try await temporary.accept("one", "a", effect: Self.like)
        let hidden = try await told { try await temporary.answer("a", #"{"liked":null,"n":1}"#) }
        #expect(hidden == [])
        let shown = try await told { try await temporary.answer("a", #"{"liked":null,"n":2}"#) }
        #expect(shown == ["put a by network"])
        let gone = try await told {
            _ = try await store.put(.tombstone(temporary.scope, named("a")), now: .epoch)
        }
        #expect(gone == ["delete a by network"])
        // What the server said last shows again, which is nothing.
        let dead = try await told { try await settle(number, .refused) }
        #expect(dead == ["one failed refused a problem"])
    }

    @Test("A confirmation tells of a target only where the origin has made something else of it")
    func confirmed() async throws {
        let first = try await temporary.accept("one", "a", effect: Self.like)
        let asWanted = try await told {
            try await temporary.confirm(first, #"{"n":1,"liked":true}"#)
        }
        #expect(asWanted == ["one confirmed a"])
        let second = try await temporary.accept("two", "a", effect: Self.like)
        let otherwise = try await told {
            try await temporary.confirm(second, #"{"n":7,"liked":true}"#)
        }
        #expect(otherwise == ["put a by modifier:two", "two confirmed a"])
    }

    @Test("A revert tells what shows again, and of what nothing is known that it is gone")
    func reverted() async throws {
        let number = try await temporary.accept("one", "a", "new", effect: Self.like)
        let told = try await told { try await settle(number, .refused) }
        #expect(
            told == [
                "put a by modifier:one", "delete new by modifier:one",
                "one failed refused a,new problem",
            ]
        )
    }

    @Test("A dead letter is an event, also if the view stays the same (case 11)")
    func equalRevert() async throws {
        let number = try await temporary.accept("one", "a", effect: Self.like)
        try await temporary.answer("a", #"{"liked":true,"n":1}"#)
        let told = try await told { try await settle(number, .refused) }
        #expect(told == ["one failed refused a problem"])
    }

    @Test("Each of several modifiers of a target leaves as a step with its events (case 13)")
    func several() async throws {
        let first = try await temporary.accept("one", "a", effect: Self.like)
        let second = try await temporary.accept(
            "two",
            "a",
            effect: #"{"type":"add","value":{"/n":1}}"#
        )
        let before = store.changes.last.number
        let settlements = [first, second].map { Settlement(number: $0, outcome: .refused) }
        try await store.modifiers.settle(settlements, now: .epoch)
        let changes = try await temporary.changes(after: before)
        #expect(
            changes.map(\.event.told) == [
                "put a by modifier:one", "one failed refused a",
                "put a by modifier:two", "two failed refused a",
            ]
        )
        let revisions = changes.map(\.revision.number)
        #expect(revisions == [before + 1, before + 1, before + 2, before + 2])
        #expect(store.changes.last.number == before + 2)
    }

    @Test("A cancellation is an event with the restored view (case 18)")
    func cancelled() async throws {
        let number = try await temporary.accept("one", "a", effect: #"{"type":"delete"}"#)
        let told = try await told { try await settle(number, .cancelled) }
        #expect(told == ["put a by modifier:one", "one cancelled a problem"])
    }

    @Test("Bytes that a modifier has put are no change when they are confirmed")
    func opaqueBody() async throws {
        let number = try await temporary.accept("one", "file", effect: #"{"type":"replace"}"#)
        let told = try await told {
            let outcome = Settlement.Outcome.confirmed { id, _ in
                var entry = Entry.fetched(id, [1, 2, 3])
                entry.body.isJSON = false
                return .put(entry, [1, 2, 3])
            }
            try await temporary.end(number, outcome)
        }
        #expect(told == ["one confirmed file"])
        #expect(try await temporary.text("file") == "\u{1}\u{2}\u{3}")
    }

    @Test("A large base is compared as a small one is")
    func largeBase() async throws {
        let long = String(repeating: "x", count: 2 * Limits.inlineBodyBytesMax)
        try await temporary.answer("a", #"{"liked":false,"long":"\#(long)"}"#)
        let number = try await temporary.accept("one", "a", effect: Self.like)
        let told = try await told {
            try await temporary.answer("a", #"{"long":"\#(long)","liked":true}"#)
            try await temporary.answer("a", #"{"long":"\#(long)y","liked":true}"#)
            try await settle(number, .refused)
        }
        #expect(told == ["put a by network", "one failed refused a problem"])
    }

    @Test("A target with more changes than are compared counts as changed by each step")
    func manyChanges() async throws {
        for number in 0...Limits.comparedChangesMax {
            try await temporary.accept("m\(number)", "a", effect: Self.like)
        }
        let told = try await told { try await temporary.answer("a", #"{"liked":true,"n":1}"#) }
        #expect(told == ["put a by network"])
    }

    @Test(
        "A change of state is an event if a person or a stall is involved; attempts are not",
        arguments: [
            (ModifierState.retryWait, false, []), (.retryWait, true, ["one retry_wait stalled a"]),
            (.queued, false, []), (.unknown, false, ["one unknown a"]),
            (.authWait, false, ["one auth_wait a"]),
            (.accepted, false, ["one accepted a"]),
        ]
    )
    func states(_ state: ModifierState, isStalled: Bool, expected: [String]) async throws {
        let number = try await temporary.accept("one", "a", effect: Self.like)
        let told = try await told {
            #expect(try await store.modifiers.send(number) != nil)
            let update = ModifierUpdate(number, state, isStalled: isStalled)
            #expect(try await store.modifiers.update(update)?.from == .inFlight)
            // The same once more is none.
            try await store.modifiers.update(update)
        }
        #expect(told == expected)
        let again = try await self.told {
            let queued = ModifierUpdate(number, .queued, answersNotApplied: 0)
            try await store.modifiers.update(queued)
        }
        #expect(again == (expected.isEmpty ? [] : ["one queued a"]))
    }

    @Test("A dead letter that is sent again shows again; one that is dropped is told too")
    func deadLetters() async throws {
        let number = try await temporary.accept("one", "a", effect: Self.like)
        try await settle(number, .refused)
        var second = number
        let again = try await told { second = try await temporary.retry(number) }
        #expect(again == ["put a by modifier:one", "one queued a"])
        try await settle(second, .refused)
        let dropped = try await told {
            _ = try await store.modifiers.drop(second, of: temporary.scope, now: .epoch)
        }
        #expect(dropped == ["one failed dropped a"])
    }

    @Test("Events of modifiers are in the log after a crash")
    func survivesCrash() async throws {
        let before = store.changes.last.number
        let number = try await temporary.accept("one", "a", effect: Self.like)
        try await settle(number, .refused)
        let first = try await temporary.changes(after: before)
        try temporary.crash()
        #expect(try await temporary.changes(after: before) == first)
        #expect(first.count == 4)
    }
}

extension Change.Event {
    fileprivate var told: String {
        switch self {
        case .put(let id, let cause): "put \(id) by \(cause.text ?? "\(cause.source)")"
        case .delete(let id, let cause): "delete \(id) by \(cause.text ?? "\(cause.source)")"
        case .evict(let id, let reason, _): "evict \(id) \(reason)"
        case .remapped(let id, let real): "remapped \(id) \(real)"
        case .modifier(let change):
            [
                change.id.text, change.state.rawValue, change.mark?.rawValue,
                change.reason?.rawValue, change.targets.map(\.text).joined(separator: ","),
                change.problem.isEmpty ? nil : "problem",
            ].compactMap(\.self).joined(separator: " ")
        }
    }
}
