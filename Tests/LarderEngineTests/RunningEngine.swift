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

    /// An engine that keeps entities by their types.
    static var normalizingEngine: Self {
        .engine { $0.origin.normalize = NormalizeRules(byType: .standard) }
    }

    /// An engine that keeps entities, of which users have URLs.
    static var userEngine: Self { .engine { $0.origin.normalize = userRules } }

    /// An engine whose origin shares its answers, which are fresh for an hour.
    static var sharedEngine: Self { sharedEngine(nil) }

    static func sharedEngine(_ rules: NormalizeRules?) -> Self {
        .engine { setup in
            setup.origin.isShared = true
            setup.origin.fetch.ttl = .seconds(3_600)
            setup.origin.normalize = rules
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

    /// The URL of the origin that most tests ask for.
    static let firstURL: WebURL = {
        guard let url = try? WebURL("https://api.example.com/a") else {
            preconditionFailure("it is a URL")
        }
        return url
    }()

    /// The engine of the test that runs.
    static var running: EngineFixture {
        guard let current else { preconditionFailure("its suite has no engine") }
        return current
    }
}
