import LarderModel

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
