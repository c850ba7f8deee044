import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("Unsent modifiers of a state.db without a store")
struct UnsentModifiersTests {
    private func read(_ temporary: TemporaryStore) throws -> (ids: [String], unreadable: Int) {
        var ids: [String] = []
        let directory = temporary.directory.path("state")
        let unreadable = try UnsentModifiers.read(inStateDirectory: directory) { whole in
            ids.append("\(whole.modifier.id.text) \(whole.modifier.state.rawValue)")
        }
        return (ids, unreadable)
    }

    @Test("Waiting and failed modifiers are read in order, confirmed ones are not")
    func order() async throws {
        let temporary = TemporaryStore.new()
        _ = try await temporary.accept("waits", "a", effect: #"{"type":"delete"}"#)
        try await temporary.confirm(temporary.accept("confirmed", "b"))
        try await temporary.end(temporary.accept("refused", "c"), .refused)
        _ = try await temporary.accept("last", "d")
        let expected = ["waits queued", "refused failed", "last queued"]
        #expect(try read(temporary).ids == expected, "while the store is open")
        try await temporary.close()
        let found = try read(temporary)
        #expect(found.ids == expected)
        #expect(found.unreadable == 0)
    }

    @Test("A modifier with a missing change counts as unreadable, the others are read")
    func unreadable() async throws {
        let temporary = TemporaryStore.new()
        _ = try await temporary.accept("cut", "a")
        _ = try await temporary.accept("whole", "b")
        try await temporary.close()
        try temporary.changeState("DELETE FROM change WHERE modifier = 1")
        let found = try read(temporary)
        #expect(found.ids == ["whole queued"])
        #expect(found.unreadable == 1)
    }

    @Test("A missing file has no modifiers, a file of another version is an error")
    func versions() async throws {
        let temporary = TemporaryStore.new()
        try await temporary.close()
        let empty = try TemporaryDirectory()
        let unreadable = try UnsentModifiers.read(inStateDirectory: empty.path("")) { _ in
            Issue.record("a modifier of no file")
        }
        #expect(unreadable == 0)
        try temporary.changeState("PRAGMA user_version=9999")
        #expect(throws: StoreError.self) { try read(temporary) }
    }
}
