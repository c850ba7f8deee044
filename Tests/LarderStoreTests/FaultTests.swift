import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

/// Every n-th SQLite operation of every step fails: the first, the second, and so on.
///
/// Prepared is a full cache with small and large rows. What was answered before is a promise:
/// afterwards every row is as it was before the step, as the step leaves it, or evicted as the
/// least recently used.
@Suite("When an SQLite operation fails")
struct FaultTests {
    struct Step: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let run: @Sendable (FaultFixture) async throws(StoreError) -> Void
    }

    static let steps: [Step] = [
        Step(testDescription: "a put over a full cache") { fixture throws(StoreError) in
            try await fixture.put("new", .pattern(20_000))
        },
        Step(testDescription: "a put of other bytes") { fixture throws(StoreError) in
            try await fixture.put("small3", .pattern(700, 9))
        },
        Step(testDescription: "an upload over a full cache, and its link") {
            fixture throws(StoreError) in
            try await fixture.upload("new", .pattern(80_000))
        },
        Step(testDescription: "a small body in place of a large one") {
            fixture throws(StoreError) in
            try await fixture.put("large", .pattern(10, 9))
        },
        Step(testDescription: "a refresh") { fixture throws(StoreError) in
            try await fixture.refresh("fetched")
        },
        Step(testDescription: "a delete") { fixture throws(StoreError) in
            try await fixture.delete("large")
        },
        Step(testDescription: "an eviction by name") { fixture throws(StoreError) in
            try await fixture.evict(prefix: "small")
        },
        Step(testDescription: "a flush of uses") { fixture throws(StoreError) in
            try await fixture.use("small1")
            try await fixture.store.flushTouches()
        },
        Step(testDescription: "maintenance") { fixture throws(StoreError) in
            try await fixture.store.maintain()
        },
        Step(testDescription: "reads") { fixture throws(StoreError) in
            try await fixture.read()
        },
        Step(testDescription: "an orderly end") { fixture throws(StoreError) in
            try await fixture.store.close()
        },
    ]

    @Test(
        "The step succeeds or says why, and nothing that was answered is lost or torn",
        arguments: steps,
        [FaultInjection.Code.inputOutput, .full]
    )
    func everyOperationFailsOnce(step: Step, code: FaultInjection.Code) async throws {
        for n in 1... {
            let fixture = try await FaultFixture()
            fixture.faults.arm(n, with: code)
            let error = await fixture.attempt(step.run)
            fixture.faults.disarm()
            let wasReached = fixture.faults.failures > 0
            try await fixture.check("n \(n), \(error.map(\.message) ?? "no error")")
            guard wasReached else {
                #expect(error == nil && n > 1)
                return
            }
        }
    }

    @Test(
        "A disk that goes on failing ends nothing but the step",
        arguments: steps,
        [FaultInjection.Code.inputOutput]
    )
    func everyOperationFailsFromThenOn(step: Step, code: FaultInjection.Code) async throws {
        for n in 1... {
            let fixture = try await FaultFixture()
            fixture.faults.arm(n, with: code, .forGood)
            let error = await fixture.attempt(step.run)
            let wasReached = fixture.faults.failures > 0
            fixture.faults.disarm()
            try await fixture.check("from n \(n) on, \(error.map(\.message) ?? "no error")")
            guard wasReached else { return }
        }
    }

    @Test("A full disk refuses what does not fit, keeps the rest, and takes puts again later")
    func fullDisk() async throws {
        let fixture = try WriterFixture(maxBytes: 64 << 20)
        try await fixture.limitPages(to: 60)
        var error: StoreError?
        var stored: Int64 = 0
        for number in 0... {
            try fixture.enqueuePut("\(number)", .pattern(10_000))
            error = try await fixture.answers.element(number).error
            if error != nil { break }
            stored += 1
        }
        guard case .diskFull = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(stored > 5 && fixture.shared.totals.entries == stored)
        #expect(try FileAudit(fixture.cachePath).entries == stored)
        try await fixture.limitPages(to: 1_000)
        try fixture.enqueuePut("after", .pattern(10_000))
        #expect(try await fixture.answers.element(Int(stored) + 1).error == nil)
        #expect(try FileAudit(fixture.cachePath).entries == stored + 1)
    }

    @Test("Opening new files succeeds or says why, and the next try succeeds")
    func openingNewFiles() async throws {
        for n in 1... {
            let faults = FaultInjection()
            faults.arm(n)
            let temporary: TemporaryStore
            do {
                temporary = try TemporaryStore(configure: { $0.faults = faults })
            } catch {
                #expect(error is StoreError && faults.failures == 1)
                continue
            }
            faults.disarm()
            try await temporary.put("a", [1])
            #expect(try await temporary.bytes("a") == [1])
            guard faults.failures > 0 else { return }
        }
    }

    @Test(
        "Opening files that are there loses nothing, whatever fails",
        arguments: [FaultInjection.Code.inputOutput, .full]
    )
    func openingFilesThatAreThere(code: FaultInjection.Code) async throws {
        let fixture = try await FaultFixture()
        let left = try await fixture.store.bodies.begin()
        try await fixture.store.bodies.append(.pattern(100), to: left, now: .epoch)
        for n in 1... {
            if n % 2 == 0 { try await fixture.temporary.close() } else { fixture.temporary.drop() }
            fixture.faults.arm(n, with: code)
            let error = await fixture.attempt { fixture throws(StoreError) in
                try fixture.temporary.open()
            }
            let failures = fixture.faults.failures
            fixture.faults.disarm()
            if error != nil { try fixture.temporary.open() }
            #expect(fixture.store.files.findings == [])
            try await fixture.checkRows("n \(n)")
            if failures == 0 { return }
        }
    }

    @Test("A cache.db that SQLite calls damaged at any step of opening is created again")
    func corruptWhileOpening() async throws {
        for n in 1... {
            let fixture = try await FaultFixture()
            let highest = fixture.highestRevision
            try await fixture.temporary.close()
            fixture.faults.arm(n, of: "", with: .corrupt)
            let error = await fixture.attempt { fixture throws(StoreError) in
                try fixture.temporary.open()
            }
            let failures = fixture.faults.failures
            fixture.faults.disarm()
            if error != nil { try fixture.temporary.open() }
            let receipt = try await fixture.temporary.put("after", [1])
            #expect(receipt.revision > highest)
            _ = try FileAudit(fixture.temporary.cachePath)
            if failures == 0 { return }
        }
    }
}
