package import LarderModel

/// Everything that an administrator decides, typed and checked.
///
/// ``load(file:environment:uid:home:checkTLS:)`` makes it of the defaults, the file and the
/// environment. `config/larder.yaml` is its manual.
package struct Configuration: Equatable, Sendable {
    package var sockets: Sockets
    package var storage: Storage
    package var cache = Cache()
    package var pins = Pins()
    package var queue = Queue()
    package var access = Access()
    package var log = Log()
    /// The file that was read, as it was named; nil where there is none.
    package var file: String?
    /// Of the file and of the folders of origins, sorted by name.
    package var knownOrigins: [KnownOrigin] = []
    package var origins: [OriginSettings] { knownOrigins.map(\.settings) }
    /// Paths of the files that hold values, by key: `origins.api.headers.Authorization`.
    package var valueFiles: [String: String] = [:]
    /// Problems of origins that were left out of the state directory's folder, one sentence each.
    package var warnings: [String] = []

    /// The defaults, for a process that lives in `places`.
    package init(places: DefaultPaths) {
        sockets = Sockets(api: places.apiSocket)
        storage = Storage(
            cacheDirectory: places.cacheDirectory,
            stateDirectory: places.stateDirectory
        )
    }
}

extension Configuration {
    package struct Sockets: Equatable, Sendable {
        package var api: String
        package var mode = 0o660
        /// Whether a hit's loop stays awake for a moment for the next one of its only client.
        package var spin = true
    }

    package struct Storage: Equatable, Sendable {
        package var cacheDirectory: String
        package var stateDirectory: String
    }

    /// A limit above the budget that holds it is no error: the budget counts.
    package struct Cache: Equatable, Sendable {
        package var maxBytes = ByteSize(bytes: 512 << 20)
        package var maxEntryBytes = ByteSize(bytes: 64 << 20)
        /// The part of ``maxBytes`` that an eviction goes down to, 0.1 to 1.
        package var lowWatermark = 0.9
        package var minFreeBytes = ByteSize(bytes: 256 << 20)
        package var memoryBytes = ByteSize(bytes: 32 << 20)

        /// The part of ``memoryBytes`` for answers that are ready to be sent.
        package var readyBytes: ByteSize { ByteSize(bytes: memoryBytes.bytes / 4) }
        /// The rest of it, for pages of the file.
        package var pageBytes: ByteSize { ByteSize(bytes: memoryBytes.bytes - readyBytes.bytes) }
    }

    package struct Pins: Equatable, Sendable {
        package var maxBytes = ByteSize(bytes: 1 << 30)
    }

    /// Limits of the modifier queue, which accepts no modifier if one of the first two is 0.
    package struct Queue: Equatable, Sendable {
        /// Modifiers that are not settled, and dead letters.
        package var maxModifiers = 100_000
        /// Bytes of these modifiers and dead letters, with the bases of their targets.
        package var maxBytes = ByteSize(bytes: 256 << 20)
        /// Settled modifiers that are remembered.
        package var history = 10_000
        /// Bytes of the answers to them that are kept, at most a quarter of ``maxBytes``.
        package var historyBytes = ByteSize(bytes: 32 << 20)
    }

    package struct Access: Equatable, Sendable {
        /// The group, by name or number, whose members are administrators besides root and the
        /// daemon's own user; one that does not exist has no members.
        package var adminGroup = standardAdminGroup
        /// Name of the group where the configuration names none.
        package static let standardAdminGroup = "larder-admin"
        /// Part of each limit for one user; 0.01 to 1.
        ///
        /// A user may fill this part of the queue and of the pins while another user has some. A
        /// user with more than this part of the cache loses own rows first.
        package var userShare = 0.5
    }

    package struct Log: Equatable, Sendable {
        package var level = LogLevel.info
        package var format = LogFormat.auto

        package init(level: LogLevel = .info, format: LogFormat = .auto) {
            (self.level, self.format) = (level, format)
        }
    }

    /// How much is logged; the words are those of swift-log.
    package enum LogLevel: String, Sendable, CaseIterable {
        case trace
        case debug
        case info
        case notice
        case warning
        case error
        case critical
    }

    package enum LogFormat: String, Sendable, CaseIterable {
        /// journald's own protocol where stderr is the journal, lines of text elsewhere.
        case auto
        /// A JSON object in each line.
        case json
    }
}

// LarderAPI has types of these names, for the wire; here they are the model's.
package typealias DeletionRule = LarderModel.DeletionRule
package typealias OriginSource = LarderModel.OriginSource

extension Configuration {
    mutating func set(
        _ key: ConfigurationKey,
        to setting: Setting
    ) throws(ConfigurationFinding) {
        switch key {
        case .socketsAPI: sockets.api = try setting.path(bytesMax: Limits.socketPathBytesMax)
        case .socketsMode: sockets.mode = try setting.mode()
        case .socketsSpin: sockets.spin = try setting.truth()
        case .storageCacheDirectory: storage.cacheDirectory = try setting.path()
        case .storageStateDirectory: storage.stateDirectory = try setting.path()
        case .cacheMaxBytes: cache.maxBytes = try setting.size(Limits.cacheBytes)
        case .cacheMaxEntryBytes: cache.maxEntryBytes = try setting.size(Limits.configuredBytes)
        case .cacheLowWatermark: cache.lowWatermark = try setting.fraction(0.1...1)
        case .cacheMinFreeBytes: cache.minFreeBytes = try setting.size(Limits.configuredBytes)
        case .cacheMemoryBytes: cache.memoryBytes = try setting.size(Limits.configuredBytes)
        case .pinsMaxBytes: pins.maxBytes = try setting.size(Limits.configuredBytes)
        case .queueMaxModifiers:
            queue.maxModifiers = try setting.wholeNumber(Limits.queueModifiers)
        case .queueMaxBytes: queue.maxBytes = try setting.size(Limits.configuredBytes)
        case .queueHistory: queue.history = try setting.wholeNumber(Limits.queueHistory)
        case .queueHistoryBytes:
            queue.historyBytes = try setting.size(Limits.configuredBytes)
        case .accessAdminGroup: access.adminGroup = try setting.groupName()
        case .accessUserShare: access.userShare = try setting.fraction(0.01...1)
        case .logLevel: log.level = try setting.choice()
        case .logFormat: log.format = try setting.choice()
        }
    }

    /// The value as ``set(_:to:)`` reads it.
    func text(of key: ConfigurationKey) -> String {
        switch key {
        case .socketsAPI: sockets.api
        case .socketsMode: "0" + String(sockets.mode + 0o1000, radix: 8).dropFirst()
        case .socketsSpin: "\(sockets.spin)"
        case .storageCacheDirectory: storage.cacheDirectory
        case .storageStateDirectory: storage.stateDirectory
        case .cacheMaxBytes: cache.maxBytes.unitText
        case .cacheMaxEntryBytes: cache.maxEntryBytes.unitText
        case .cacheLowWatermark: "\(cache.lowWatermark)"
        case .cacheMinFreeBytes: cache.minFreeBytes.unitText
        case .cacheMemoryBytes: cache.memoryBytes.unitText
        case .pinsMaxBytes: pins.maxBytes.unitText
        case .queueMaxModifiers: "\(queue.maxModifiers)"
        case .queueMaxBytes: queue.maxBytes.unitText
        case .queueHistory: "\(queue.history)"
        case .queueHistoryBytes: queue.historyBytes.unitText
        case .accessAdminGroup: access.adminGroup
        case .accessUserShare: "\(access.userShare)"
        case .logLevel: log.level.rawValue
        case .logFormat: log.format.rawValue
        }
    }
}

extension Configuration {
    /// The keys, except for origins, whose values differ from those in `old`.
    ///
    /// The daemon can put `taken` in force while it runs; `needingRestart` needs a restart.
    package func changes(
        from old: Configuration
    ) -> (taken: [ConfigurationKey], needingRestart: [ConfigurationKey]) {
        let changed = ConfigurationKey.allCases.filter { text(of: $0) != old.text(of: $0) }
        return (changed.filter { !$0.needsRestart }, changed.filter(\.needsRestart))
    }

    /// The same, where what needs a restart is as in the configuration that is in force.
    package func inForce(after old: Configuration) -> Configuration {
        var new = self
        for key in changes(from: old).needingRestart {
            let setting = Setting(text: old.text(of: key), place: .standard(key))
            do throws(ConfigurationFinding) {
                try new.set(key, to: setting)
            } catch {
                preconditionFailure("\(key.rawValue) is not read as it was before: \(error)")
            }
        }
        return new
    }
}

package enum ConfigurationError: Error, Equatable, CustomStringConvertible {
    /// A file that is there, or was asked for by name, cannot be read.
    case unreadable(file: String, reason: String)
    /// Everything that is wrong, in the file's order; never empty.
    ///
    /// `log` is what was read of it all the same.
    case invalid([ConfigurationFinding], log: Configuration.Log)

    package var description: String {
        switch self {
        case .unreadable(let file, let reason):
            "\(file): the configuration cannot be read: \(reason)"
        case .invalid(let findings, _):
            findings.map(\.description).joined(separator: "\n")
        }
    }
}

package struct ConfigurationFinding: Error, Equatable, CustomStringConvertible {
    package let place: ConfigurationPlace
    package let message: String
    /// The name that was probably meant.
    package let suggestion: String?
    /// Whether a key is named that there is not.
    package let isUnknownKey: Bool

    init(
        _ place: ConfigurationPlace,
        _ message: String,
        suggestion: String? = nil,
        isUnknownKey: Bool = false
    ) {
        self.place = place
        self.message = message
        self.suggestion = suggestion
        self.isUnknownKey = isUnknownKey
    }

    /// Example: `/etc/larder/larder.yaml:3:5: there is no key 'cahce' (did you mean 'cache'?)`.
    package var description: String { "\(place): \(words)" }

    package var words: String {
        message + (suggestion.map { " (did you mean '\($0)'?)" } ?? "")
    }
}

package enum ConfigurationPlace: Hashable, Sendable, CustomStringConvertible {
    /// Line and column count from 1; the column counts Unicode scalars.
    case file(String, line: Int, column: Int)
    case environment(variable: String)
    /// Default path, made from the user's directories.
    case standard(ConfigurationKey)

    package var description: String {
        switch self {
        case .file(let path, let line, let column): "\(path):\(line):\(column)"
        case .environment(let variable): "environment: \(variable)"
        case .standard(let key): "default of \(key.rawValue)"
        }
    }
}
