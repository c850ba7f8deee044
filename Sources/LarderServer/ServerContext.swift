package import LarderAPI
import LarderEngine
import LarderModel
import LarderWire
import NIOCore
import Synchronization

/// What every connection shares.
final class ServerContext: Sendable {
    let engine: Engine
    private let standing: Mutex<ServerStanding>
    /// Nil where the configuration cannot be read again.
    private let reloadConfiguration: Server.Reload?
    let takesPlainReads: Bool
    let connections: ConnectionList
    let uploads = UploadPlaces()
    let memory = HeldMemory()
    let meters = LoopMeters()
    /// Sets request ids of this run apart from those of others.
    private let run: String
    // Relaxed: each number is only ever taken once, and orders nothing.
    private let requests = Atomic<Int64>(0)

    init(
        engine: Engine,
        administrators: Administrators,
        configuration: ConfigurationStatus? = nil,
        takesPlainReads: Bool = true,
        filesMax: Int = .max,
        reload: Server.Reload? = nil
    ) {
        connections = ConnectionList(
            connectionsMax: Limits.connectionsMax(files: filesMax),
            perUserMax: Limits.connectionsPerUserMax(files: filesMax)
        )
        standing = Mutex(
            ServerStanding(administrators: administrators, configuration: configuration)
        )
        reloadConfiguration = reload
        self.takesPlainReads = takesPlainReads
        self.engine = engine
        run = String(engine.clock.now().milliseconds, radix: 36)
    }

    var administrators: Administrators { standing.withLock { $0.administrators } }

    /// What status tells of the configuration.
    var configuration: ConfigurationStatus? { standing.withLock { $0.configuration } }

    /// Has the configuration read again; nil where it cannot be.
    func reload() async -> ReloadReport? {
        await reloadConfiguration? { [self] new in standing.withLock { $0 = new } }
    }

    func nextRequestID() -> String {
        "\(run)-\(requests.wrappingAdd(1, ordering: .relaxed).newValue)"
    }
}

/// What a server goes by of the configuration that is in force.
package struct ServerStanding: Sendable {
    package var administrators: Administrators
    /// What status tells of it.
    package var configuration: ConfigurationStatus?

    package init(
        administrators: Administrators,
        configuration: ConfigurationStatus? = nil
    ) {
        self.administrators = administrators
        self.configuration = configuration
    }
}
