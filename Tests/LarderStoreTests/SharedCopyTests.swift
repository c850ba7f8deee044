import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("Copies of shared rows")
struct SharedCopyTests {
    private static func temporary(pinsMaxBytes: Int64 = 1 << 20) throws -> TemporaryStore {
        try TemporaryStore(configure: { $0.pinsMaxBytes = ByteSize(bytes: pinsMaxBytes) })
    }

    @Test("One that has no room for an answer keeps it from nobody else")
    func withoutRoom() async throws {
        let temporary = try Self.temporary(pinsMaxBytes: 4_096)
        let store = temporary.store
        let shared = store.key(for: .shared)
        try await temporary.answer("a", "[1]", in: shared)
        let number = try await temporary.accept("one", "a", isOfSharedRow: true)
        _ = try await store.pins.pin(
            temporary.scope,
            named("a"),
            origin: try OriginName("host"),
            now: .epoch
        )
        try await temporary.confirm(number)
        let large = "\"" + String(repeating: "x", count: 8_000) + "\""
        try await temporary.answer("a", large, in: shared)
        #expect(try await temporary.text("a", in: shared) == large)
        #expect(try await temporary.text("a") == "[1]")
        #expect(store.files.findings.isEmpty)
        try await temporary.answer("a", "[2]", in: shared)
        #expect(try await temporary.text("a") == "[2]")
    }

    @Test("A pin without bytes does not hide the shared row from who writes, nor after a start")
    func pinWithoutBytes() async throws {
        let temporary = try Self.temporary()
        let shared = temporary.store.key(for: .shared)
        let origin = try OriginName("host")
        let pin = try await temporary.store.pins.pin(
            temporary.scope,
            named("a"),
            origin: origin,
            now: .epoch
        )
        #expect(pin == .waiting(isNew: true))
        try await temporary.answer("a", "[1]", in: shared)
        try await temporary.accept("one", "a", isOfSharedRow: true)
        #expect(try temporary.target("a")?.base == "[1]")
        try temporary.crash()
        try await temporary.answer("a", "[2]", in: shared)
        #expect(try temporary.target("a")?.base == "[2]")
    }
}
