package import LarderModel

/// Everything that an administrator decides, typed and checked.
///
/// ``load(file:environment:uid:home:flags:)`` makes it of the defaults, the file, the environment
/// and the flags. `config/larder.yaml` is its manual.
package struct Configuration: Equatable, Sendable {
    package var sockets: Sockets
    package var storage: Storage
    package var cache = Cache()
    package var log = Log()
    /// Sorted by name.
    package var origins: [OriginSettings] = []

    /// The defaults, for a process that lives in `places`.
    package init(places: StandardPlaces) {
        sockets = Sockets(api: places.apiSocket)
        storage = Storage(
            cacheDirectory: places.cacheDirectory,
            stateDirectory: places.stateDirectory
        )
    }
}

extension Configuration {
    package struct Sockets: Equatable, Sendable {
        /// The absolute path of the socket.
        package var api: String
        /// The socket's permission bits.
        package var mode = 0o660
    }

    package struct Storage: Equatable, Sendable {
        /// The absolute path of the folder of `cache.db`.
        package var cacheDirectory: String
        /// The absolute path of the folder of `state.db`.
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
    }

    package struct Log: Equatable, Sendable {
        package var level = LogLevel.info
        package var format = LogFormat.auto
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
        /// One JSON object a line.
        case json
    }
}
