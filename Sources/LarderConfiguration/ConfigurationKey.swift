/// A key that has one value, under its path in the file.
///
/// Origins are many and come from files alone; their keys are ``OriginKey`` and what stands under
/// those, ``FetchKey``, ``NormalizeKey`` and ``ModifierRuleKey``.
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
    case accessAdminGroup = "access.admin_group"
    case accessUserShare = "access.user_share"
    case logLevel = "log.level"
    case logFormat = "log.format"

    /// The variable that sets it: `LARDER_CACHE_MAX_BYTES` for `cache.max_bytes`.
    package var variable: String {
        "LARDER_" + rawValue.uppercased().split(separator: ".").joined(separator: "_")
    }

    /// What stands after the section: `max_bytes`.
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
            .pinsMaxBytes, .queueMaxModifiers, .queueMaxBytes, .queueHistory, .accessAdminGroup,
            .accessUserShare, .logLevel:
            false
        }
    }

    static func keys(of section: ConfigurationSection) -> [ConfigurationKey] {
        allCases.filter { $0.rawValue.hasPrefix("\(section.rawValue).") }
    }
}

/// What stands at the top of the file.
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

/// What stands under an origin's name.
enum OriginKey: String, CaseIterable {
    case baseURL = "base_url"
    case allowPrivate = "allow_private"
    case redirectHosts = "redirect_hosts"
    case shared
    case proxy
    case tls
    case headers
    case fetch
    case normalize
    case modifiers
}

/// What stands under an origin's `fetch`.
enum FetchKey: String, CaseIterable {
    case policy
    case networkWait = "network_wait"
    case timeout
    case connectTimeout = "connect_timeout"
    case ttl
    case storeNoStore = "store_no_store"
}

/// What stands under an origin's `normalize`.
enum NormalizeKey: String, CaseIterable {
    case byType = "by_type"
    case types
    case paths
}

/// What stands under the `by_type` of an origin's `normalize`.
enum TypeMembersKey: String, CaseIterable {
    case type
    case id
}

/// What stands in one of the `types` of an origin's `normalize`.
enum TypeRuleKey: String, CaseIterable {
    case type
    case key
    case url
    case version
    case lists
    case embed
    case onDeleted = "on_deleted"
}

/// What stands in one of the `paths` of an origin's `normalize`.
enum PathRuleKey: String, CaseIterable {
    case url
    case at
    case type
    case key
}

/// The rules of a list that are one word.
enum ListRuleWord: String, CaseIterable {
    case replace
    case append
}

/// Keys of a list rule that is a mapping.
enum ListRuleKey: String, CaseIterable {
    /// The member of its elements by which it is united.
    case by
    /// The query parameter that tells its pages apart.
    case append
}

/// What stands under an origin's `modifiers`.
enum ModifierRuleKey: String, CaseIterable {
    case respondAsync = "respond_async"
    case idempotency
    case answer
    case afterUnknown = "after_unknown"
    case acceptedLimit = "accepted_limit"
    case stalledAfter = "stalled_after"
    case refusedIf = "refused_if"
}

/// What stands in a rule of `refused_if`.
enum RefusalRuleKey: String, CaseIterable {
    case pointer
    case equals
}

/// What stands under the `idempotency` of an origin's `modifiers`.
enum IdempotencyRuleKey: String, CaseIterable {
    case header
    case honoured
}
