/// A key that has one value, under its path in the file.
///
/// Origins are many and come from files alone; their keys are the members of ``OriginDefinition``.
package enum ConfigurationKey: String, Sendable, CaseIterable {
    case socketsAPI = "sockets.api"
    case socketsMode = "sockets.mode"
    case socketsSpin = "sockets.spin"
    case storageCacheDirectory = "storage.cache_directory"
    case storageStateDirectory = "storage.state_directory"
    case cacheMaxBytes = "cache.max_bytes"
    case cacheMaxEntryBytes = "cache.max_entry_bytes"
    case cacheLowWatermark = "cache.low_watermark"
    case cacheMinFreeBytes = "cache.min_free_bytes"
    case cacheMemoryBytes = "cache.memory_bytes"
    case pinsMaxBytes = "pins.max_bytes"
    case queueMaxModifiers = "queue.max_modifiers"
    case queueMaxBytes = "queue.max_bytes"
    case queueHistory = "queue.history"
    case queueHistoryBytes = "queue.history_bytes"
    case accessAdminGroup = "access.admin_group"
    case accessUserShare = "access.user_share"
    case logLevel = "log.level"
    case logFormat = "log.format"

    /// The variable that sets it: `LARDER_CACHE_MAX_BYTES` for `cache.max_bytes`.
    package var variable: String {
        "LARDER_" + rawValue.uppercased().split(separator: ".").joined(separator: "_")
    }

    /// Part of the key after the section: `max_bytes`.
    var name: String {
        String(rawValue.drop(while: { $0 != "." }).dropFirst())
    }

    /// Whether its value is true or false, which YAML does not quote.
    var isTruth: Bool { self == .socketsSpin }

    /// Whether another value counts from the next start on: what is made of it is made once.
    var needsRestart: Bool {
        switch self {
        case .socketsAPI, .socketsMode, .socketsSpin, .storageCacheDirectory,
            .storageStateDirectory, .cacheMemoryBytes, .logFormat:
            true
        case .cacheMaxBytes, .cacheMaxEntryBytes, .cacheLowWatermark, .cacheMinFreeBytes,
            .pinsMaxBytes, .queueMaxModifiers, .queueMaxBytes, .queueHistory, .queueHistoryBytes,
            .accessAdminGroup, .accessUserShare, .logLevel:
            false
        }
    }

    static func keys(of section: ConfigurationSection) -> [ConfigurationKey] {
        allCases.filter { $0.rawValue.hasPrefix("\(section.rawValue).") }
    }
}

/// Top-level key of the file.
enum ConfigurationSection: String, CaseIterable {
    case sockets
    case storage
    case cache
    case pins
    case queue
    case access
    case log
    case origins
}
