import LarderTestSupport
import Testing

/// Runs each test twice: with plain reads taken ahead of the parser, and with all left to it.
struct BothWays: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        for takesPlainReads in [true, false] {
            try await ServerFixture.$takesPlainReads.withValue(takesPlainReads) {
                try await function()
            }
        }
    }
}

extension Trait where Self == BothWays {
    /// By the way of plain reads, and without it.
    static var bothWays: Self { Self() }
}
