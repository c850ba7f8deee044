import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("Limits that change", .timeLimit(.minutes(5)))
struct LimitTests {
    @Test("A raised queue takes what the lower one refused, and its totals say so")
    func queue() async throws {
        let temporary = try TemporaryStore(configure: { $0.queue.maxModifiers = 0 })
        await #expect(throws: StoreError.queueFull(.modifiers, limit: 0)) {
            _ = try await temporary.accept("one", "a")
        }
        var limits = temporary.store.limits
        limits.queue.maxModifiers = 3
        temporary.store.setLimits(limits)
        _ = try await temporary.accept("one", "a")
        #expect(temporary.store.modifiers.totals.maxModifiers == 3)
    }

    @Test("A lower limit of an entry, of pins and of the cache counts from then on")
    func lowered() async throws {
        let temporary = try TemporaryStore()
        var limits = temporary.store.limits
        limits.maxEntryBytes = ByteSize(bytes: 7)
        limits.pinsMaxBytes = ByteSize(bytes: 8)
        temporary.store.setLimits(limits)
        #expect(temporary.store.maxEntryBytes == 7)
        #expect(temporary.store.pins.totals.maxBytes == 8)
        limits.maxBytes = ByteSize(bytes: 1 << 20)
        temporary.store.setLimits(limits)
        try await temporary.store.maintain()
        #expect(temporary.store.totals.budget == 1 << 20)
    }

    @Test("An open store's limits are its own, not those of the configuration that it was made of")
    func separate() throws {
        let (first, second) = (try TemporaryStore(), try TemporaryStore())
        var limits = first.store.limits
        limits.maxBytes = ByteSize(bytes: 5)
        first.store.setLimits(limits)
        #expect(second.store.limits.maxBytes == ByteSize(bytes: 512 << 20))
    }
}
