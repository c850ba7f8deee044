import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("Things that get their real ids (case 16)")
struct RenamingTests {
    private let temporary = TemporaryStore.new()
    private static let text = "tmp:6f1c0a52-0000-4000-8000-0123456789ab"

    private func accept(_ name: String, makes: Bool) async throws -> ModifierNumber {
        var new = NewModifier.changing([Self.text], name, temporary.scope, effect: Self.text)
        new.request.body = Array(Self.text.utf8)
        let id = try EntryID(Self.text)
        let use = TemporaryUse(try #require(TemporaryID(Self.text)), made: makes ? id : nil)
        new.temporaries = [use]
        return try await temporary.store.modifiers.accept([new], now: .epoch)[0].number
    }

    /// Settles a create: what it has created is `b` from then on, or nothing is known of it.
    private func settle(_ number: ModifierNumber, isKnown: Bool = true) async throws {
        _ = try await temporary.store.modifiers.settle(
            [number],
            now: .epoch,
            createsIDs: true,
            naming: { _, made in
                var renaming = IDRenaming(
                    request: { request in
                        var request = request
                        request.body = Array("b".utf8)
                        return request
                    },
                    effect: { _ in Array("b".utf8) }
                )
                guard isKnown else {
                    renaming.missing = made.map(\.name)
                    return renaming
                }
                renaming.ids = made.map { stored in
                    RenamedID(
                        stored.name,
                        from: stored.id,
                        to: named("b"),
                        value: [7],
                        isOfSharedRow: false
                    )
                }
                return renaming
            },
            deciding: { Settlement(number: $0.modifier.number, outcome: .confirmed(as: "B")) }
        )
    }

    @Test("The settle step renames targets, effects and requests, and the old name leads on")
    func renamed() async throws {
        let create = try await accept("create", makes: true)
        let edit = try await accept("edit", makes: false)
        let before = try #require(try await temporary.store.modifiers.whole(edit))
        #expect(before.modifier.dependsOn == [create])
        try await settle(create)
        for isAgain in [false, true] {
            if isAgain { try temporary.crash() }
            let store = temporary.store
            let whole = try #require(try await store.modifiers.whole(edit))
            #expect(whole.modifier.targets == [named("b")])
            #expect(whole.body == Array("b".utf8))
            #expect(whole.changes.map(\.effect) == [Array("b".utf8)])
            #expect(
                store.modifiers.current(try EntryID(Self.text), in: temporary.scope) == named("b")
            )
            #expect(store.modifiers.isTarget(temporary.scope, named("b")))
            #expect(!store.modifiers.isTarget(temporary.scope, try EntryID(Self.text)))
            #expect(try temporary.target("b")?.base == "B")
        }
        #expect(try await temporary.store.modifiers.send(edit) != nil)
        try await temporary.confirm(edit)
        try await temporary.store.maintain()
        #expect(try temporary.count("claim") == 0)
        #expect(try temporary.count("temporary_use") == 0)
        #expect(try temporary.count("temporary_id") == 1)
    }

    @Test("A pin of the temporary id is one of the real id from the same step on")
    func pinned() async throws {
        let (scope, id) = (temporary.scope, try EntryID(Self.text))
        _ = try await temporary.store.pins.put(.blob(scope, id, Array("own".utf8)), now: .epoch)
        try await settle(try await accept("create", makes: true))
        for isAgain in [false, true] {
            if isAgain { try temporary.crash() }
            try await temporary.store.maintain()
            let pins = temporary.store.pins
            #expect(try await pins.pin(scope, id) == nil)
            #expect(try await pins.pin(scope, named("b"))?.state == .held)
            #expect(pins.totals.count == 1)
            #expect(try await temporary.text("b") == "B")
        }
    }

    @Test("Without an id the create is confirmed, and what names the thing is not sent")
    func missing() async throws {
        let create = try await accept("create", makes: true)
        let edit = try await accept("edit", makes: false)
        try await settle(create, isKnown: false)
        await #expect(throws: StoreError.missingID) {
            try await temporary.store.modifiers.send(edit)
        }
        await #expect(throws: StoreError.otherIDs) { try await accept("late", makes: false) }
    }

    @Test("The name of a failed create is refused, and waits again once it is retried")
    func failed() async throws {
        let create = try await accept("create", makes: true)
        try await temporary.end(create, .refused)
        await #expect(throws: StoreError.otherIDs) { try await accept("late", makes: false) }
        let next = try await temporary.retry(create)
        let edit = try await accept("edit", makes: false)
        let whole = try #require(try await temporary.store.modifiers.whole(edit))
        #expect(whole.modifier.dependsOn == [next])
    }

    @Test("A name is forgotten 90 days after its last use")
    func forgotten() async throws {
        try await settle(try await accept("create", makes: true))
        #expect(try temporary.count("temporary_id") == 1)
        let (store, late) = (temporary.store, Limits.aliasLifetime + .seconds(1))
        try await store.stateFile.settle { writer throws(StoreError) in
            try writer.renaming.runMaintenance([], now: Timestamp.epoch.advanced(by: late))
        }
        #expect(try temporary.count("temporary_id") == 0)
        let id = try EntryID(Self.text)
        #expect(store.modifiers.current(id, in: temporary.scope) == id)
    }
}
