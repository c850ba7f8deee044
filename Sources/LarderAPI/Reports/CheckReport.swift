/// A subject that the daemon checked.
public struct Finding: Codable, Equatable, Sendable {
    /// The subject: `cache.db`.
    public var subject: String
    /// The state of the subject.
    public var state: FindingState
    /// The state in one sentence.
    public var detail: String
    /// The command or step that helps; null if none is needed.
    public var fix: String?

    package init(_ subject: String, _ state: FindingState, _ detail: String, fix: String? = nil) {
        self.subject = subject
        self.state = state
        self.detail = detail
        self.fix = fix
    }
}

/// The state of a subject that the daemon checked.
public struct FindingState: WireEnum {
    /// The subject works.
    public static let ok = FindingState(rawValue: "ok")
    /// The subject works, and an operator should look at it.
    public static let warning = FindingState(rawValue: "warning")
    /// The subject does not work, or not safely.
    public static let failed = FindingState(rawValue: "failed")
    /// The daemon did not check the subject, or not to its end.
    public static let skipped = FindingState(rawValue: "skipped")

    /// Every value that this version knows.
    public static let known: [FindingState] = [.ok, .warning, .failed, .skipped]
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// The result of reading the configuration again.
public struct ReloadReport: Codable, Equatable, Sendable {
    /// Whether the new configuration is in force; of a refused one nothing is.
    public var state: ReloadState
    /// Absolute path of the configuration file; null if there is none and the defaults count.
    public var file: String?
    /// Keys that have changed and are in force; an origin is `origins.NAME`.
    public var taken: [String] = []
    /// Keys that have changed and count after the next start.
    public var needsRestart: [String] = []
    /// Why the configuration is refused, one sentence each, with file, line and column.
    public var refused: [String] = []
    /// Parts that are valid and that an operator should look at, one sentence each.
    public var warnings: [String] = []

    package init(_ state: ReloadState, file: String?) {
        self.state = state
        self.file = file
    }
}

/// Whether a configuration is in force.
public struct ReloadState: WireEnum {
    /// The configuration is in force.
    public static let taken = ReloadState(rawValue: "taken")
    /// The configuration is refused.
    public static let refused = ReloadState(rawValue: "refused")

    /// Every value that this version knows.
    public static let known: [ReloadState] = [.taken, .refused]
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// The result of a purge.
public struct PurgeReport: Codable, Equatable, Sendable {
    /// Number of entries and entities that were removed, pinned ones included.
    public var entries = 0
    /// Accounted size of those.
    public var accountedBytes: Int64 = 0
    /// Number of modifiers: unsettled ones and dead letters.
    public var modifiers = 0

    package init() {}
}

/// The result of an eviction, or of a dry run.
public struct EvictReport: Codable, Equatable, Sendable {
    /// Number of entries and entities that were evicted.
    public var evicted = 0
    /// Accounted size of those.
    public var accountedBytes: Int64 = 0
    /// Number of entries that were selected and are protected.
    public var skipped = 0
    /// Ids of the evicted entries and entities, at most 10,000.
    public var ids: [String] = []

    package init() {}
}
