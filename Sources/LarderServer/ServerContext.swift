import LarderEngine
import LarderModel
import LarderWire
import NIOCore
import Synchronization

/// What every connection shares.
final class ServerContext: Sendable {
    let engine: Engine
    let administrators: Administrators
    /// What status tells of the configuration.
    let configuration: StatusReport.Configuration?
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
        configuration: StatusReport.Configuration? = nil,
        takesPlainReads: Bool = true,
        filesMax: Int = .max
    ) {
        connections = ConnectionList(
            connectionsMax: Limits.connectionsMax(files: filesMax),
            perUserMax: Limits.connectionsPerUserMax(files: filesMax)
        )
        self.configuration = configuration
        self.takesPlainReads = takesPlainReads
        self.engine = engine
        self.administrators = administrators
        run = String(engine.clock.now().milliseconds, radix: 36)
    }

    func nextRequestID() -> String {
        "\(run)-\(requests.wrappingAdd(1, ordering: .relaxed).newValue)"
    }
}
