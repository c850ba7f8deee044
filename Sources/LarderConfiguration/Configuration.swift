package import LarderModel

/// Everything that an administrator decides, typed and checked.
///
/// ``load(file:environment:uid:home:flags:checkTLS:)`` makes it of the defaults, the file, the environment
/// and the flags. `config/larder.yaml` is its manual.
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
    package var origins: [OriginSettings] = []
    package var originSources: [OriginName: OriginSource] = [:]
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
    package var knownOrigins: [KnownOrigin] {
        origins.map { KnownOrigin($0, from: originSources[$0.name] ?? .implicit) }
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
