package import LarderAPI
import LarderEngine
package import LarderModel
import Logging
import NIOCore
import Synchronization

final class ServerContext: Sendable {
    let engine: Engine
    private let standing: Mutex<ServerStanding>
    /// Nil where the configuration cannot be read again.
    private let reloadConfiguration: Server.Reload?
    let takesPlainReads: Bool
    let connections: ConnectionList
    /// Places for bodies that are still coming.
    let uploads = UserQuota(max: Limits.uploadsMax, each: Limits.uploadsPerUserMax)
    /// Bytes of bodies and answers that are held as a whole.
    let memory = UserQuota(max: Limits.heldBytesMax, each: Limits.heldBytesPerUserMax)
    let meters = LoopMeters()
    /// Sets request ids of this run apart from those of others.
    private let run: String
    // Relaxed: each number is only ever taken once, and orders nothing.
    private let requests = Atomic<Int64>(0)

    init(_ configuration: Server.Configuration, engine: Engine) {
        connections = ConnectionList(
            connectionsMax: Limits.connectionsMax(files: configuration.filesMax),
            perUserMax: Limits.connectionsPerUserMax(files: configuration.filesMax)
        )
        standing = Mutex(configuration.standing)
        reloadConfiguration = configuration.reload
        takesPlainReads = configuration.takesPlainReads
        self.engine = engine
        run = String(engine.clock.now().milliseconds, radix: 36)
    }

    var administrators: Administrators { standing.withLock { $0.administrators } }

    var configuration: ConfigurationStatus? { standing.withLock { $0.configuration } }

    /// Has the configuration read again; nil where it cannot be.
    func reload() async -> ReloadReport? {
        await reloadConfiguration? { [self] new in standing.withLock { $0 = new } }
    }

    /// Gives a problem a request id of its own, which the log has for a fault of the daemon.
    func named(_ problem: Problem) -> Problem {
        var problem = problem
        problem.requestID = "\(run)-\(requests.wrappingAdd(1, ordering: .relaxed).newValue)"
        if problem.kind == .internal {
            let fields: [LogKey: Logger.MetadataValue] = [
                .requestID: "\(problem.requestID)", .reason: "\(problem.detail)",
            ]
            engine.logger.error("a request failed", metadata: .larder(fields))
        }
        return problem
    }
}

/// Settings of a server that come from the configuration in force.
package struct ServerStanding: Sendable {
    package var administrators: Administrators
    /// Configuration that status reports.
    package var configuration: ConfigurationStatus?

    package init(
        administrators: Administrators,
        configuration: ConfigurationStatus? = nil
    ) {
        self.administrators = administrators
        self.configuration = configuration
    }
}

// LarderAPI has types of these names, for the wire; here they are the model's.
package typealias Timestamp = LarderModel.Timestamp
