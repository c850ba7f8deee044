import LarderModel
import LarderTestSupport
import Testing

/// Gives each test of a suite an engine of its own: ``EngineFixture/running``.
struct RunningEngine: SuiteTrait, TestTrait, TestScoping {
    let change: @Sendable (inout EngineSetup) throws -> Void
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await EngineFixture.run(.with(change)) { fixture in
            try await EngineFixture.$current.withValue(fixture) { try await function() }
        }
    }
}

extension Trait where Self == RunningEngine {
    static var engine: Self { Self { _ in } }

    /// An engine with another setup than the default.
    static func engine(_ change: @escaping @Sendable (inout EngineSetup) throws -> Void) -> Self {
        Self(change: change)
    }

    /// An engine whose origin shares its answers, which are fresh for an hour.
    static var sharedEngine: Self {
        .engine { setup in
            setup.origin.scope = .shared
            setup.origin.fetch.ttl = .seconds(3_600)
        }
    }
}

/// Rules by which a user has a URL of their own.
let userRules = NormalizeRules(
    byType: .standard,
    types: [TypeRule(type: "User", url: "/users/{id}")]
)

extension EngineFixture {
    @TaskLocal fileprivate static var current: EngineFixture?

    /// The engine of the test that runs.
    static var running: EngineFixture {
        guard let current else { preconditionFailure("its suite has no engine") }
        return current
    }
}
