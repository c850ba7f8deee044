import Glibc
import LarderAPI
import LarderConfiguration
import LarderEngine
import LarderModel
import LarderServer
import LarderStore
import LarderSystemd
import LarderUpstream
import LarderWire
import Logging
import ServiceLifecycle
import UnixSignals

/// Wires the parts together and runs them until a signal.
struct Daemon {
    let configuration: Configuration
    let systemd: ServiceEnvironment
    let logger: Logger
    let load: Reloader.Load
    /// When the configuration was read.
    private let readAt = SystemClock().now()
    private let endLimit = ShutdownDeadline()

    private var announcer: Announcer { Announcer(notifier: systemd.notifier, logger: logger) }

    /// Returns after SIGTERM or SIGINT, once everything is written down; within ``Limits/endTime``
    /// the process has ended either way.
    func run() async throws {
        // Until the daemon serves, a reload waits.
        let hangUps = await UnixSignalsSequence(trapping: .sighup)
        Heap.giveBackLargeBlocks()
        try systemd.socket?.check()
        try serverConfiguration.checkSocket()
        announcer.tell(.status("opens its files"))
        let clock = SystemClock()
        let store = try Store(storeConfiguration) { clock.now() }
        logger.write(store.files.takeNews())
        for notice in store.notices {
            logger.notice("a file was migrated", metadata: .larder([.reason: "\(notice)"]))
        }
        for warning in configuration.warnings {
            logger.warning("the configuration", metadata: .larder([.reason: "\(warning)"]))
        }
        let folder = OriginFolder(
            inStateDirectory: configuration.storage.stateDirectory,
            checkTLS: TLSMaterial.fault
        )
        let upstream = HTTPUpstream(userAgent: "larderd/\(Version.text)")
        let engine = Engine(
            store: store,
            upstream: upstream,
            origins: OriginTable(configuration.knownOrigins, owner: owner),
            keeping: OriginStore(read: folder.read, save: folder.save, remove: folder.remove),
            clock: clock,
            random: SystemRandomNumberGenerator(),
            logger: logger,
            version: Version.text,
            findings: configuration.warnings,
            readFile: { path throws(Problem) in
                do throws(ConfigurationFinding) {
                    return try SecretFile.line(of: path)
                } catch {
                    throw Problem(.badRequest, "file: \(error.message)")
                }
            }
        )
        let services = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: services(engine, hangUps),
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: logger
            )
        )
        var failure: (any Error)?
        do {
            try await services.run()
        } catch {
            failure = error
        }
        endLimit.begin(logger)
        // No SIGHUP cuts the end off.
        defer { withExtendedLifetime(hangUps) {} }
        await upstream.shutdown()
        try await store.close()
        if let failure { throw failure }
        logger.info("ended")
    }

    /// User whose public URLs are fetched without an origin that names them.
    private var owner: UInt32? { ProcessEnvironment.isSystemService ? nil : ProcessEnvironment.uid }

    /// Services that run until the signal; the last one ends first.
    private func services(
        _ engine: Engine,
        _ hangUps: UnixSignalsSequence
    ) -> [ServiceGroupConfiguration.ServiceConfiguration] {
        let reloader = Reloader(
            configuration,
            load: load,
            engine: engine,
            announcer: announcer,
            logger: logger,
            status: servingStatus
        )
        var settings = serverConfiguration
        settings.reload = { await reloader.reload($0) }
        let server = Server(settings, engine: engine)
        var services: [ServiceGroupConfiguration.ServiceConfiguration] = [
            .init(service: EngineService(engine: engine), successTerminationBehavior: .ignore),
            .init(
                service: ServerService(server: server, listening: announce, ending: announceEnd),
                successTerminationBehavior: .gracefullyShutdownGroup,
                failureTerminationBehavior: .gracefullyShutdownGroup
            ),
        ]
        // At each SIGHUP the daemon reads the configuration again.
        let reloading = BackgroundService {
            for await _ in hangUps { await server.reload() }
        }
        services.append(.init(service: reloading, successTerminationBehavior: .ignore))
        // The files of configured credentials are read again when they change.
        let reading = BackgroundService {
            while (try? await engine.clock.sleep(for: Limits.credentialFileTime)) != nil {
                await reloader.readCredentialFiles()
                await engine.credentials.readFiles()
            }
        }
        services.append(.init(service: reading, successTerminationBehavior: .ignore))
        if let watchdog = systemd.watchdog {
            let feeding = BackgroundService { await feed(watchdog, engine) }
            services.insert(.init(service: feeding, successTerminationBehavior: .ignore), at: 0)
        }
        return services
    }

    /// Tells systemd in time that the daemon works: as long as a read of the store succeeds.
    ///
    /// The notices go on while the server drains.
    private func feed(_ watchdog: Watchdog, _ engine: Engine) async {
        await watchdog.feed(
            sleep: { try await engine.clock.sleep(for: $0) },
            isWell: { await isWell(engine) },
            tell: { announcer.tell(.watchdog) }
        )
    }

    private func isWell(_ engine: Engine) async -> Bool {
        do throws(Problem) {
            try await engine.monitor.checkStore()
            return true
        } catch {
            logger.error(
                "the watchdog is not fed",
                metadata: .larder([.reason: "\(error.detail)"])
            )
            return false
        }
    }

    private var serverConfiguration: Server.Configuration {
        let standing = ServerStanding(configuration, readAt: readAt)
        var server = Server.Configuration(
            path: configuration.sockets.api,
            mode: UInt32(configuration.sockets.mode),
            administrators: standing.administrators
        )
        server.standing = standing
        server.readyBytes = configuration.cache.readyBytes
        server.spins = configuration.sockets.spin
        server.filesMax = FileLimit.raise()
        server.inherited = systemd.socket?.descriptor
        return server
    }

    /// Where clients find the daemon.
    private var address: String { systemd.socket?.path ?? configuration.sockets.api }

    private var servingStatus: String { "serves \(address)" }

    private func announce() {
        logger.info(
            "listening",
            metadata: .larder([.path: "\(address)", .version: "\(Version.text)"])
        )
        announcer.tell(.ready(status: servingStatus))
    }

    private func announceEnd() {
        endLimit.begin(logger)
        announcer.tell(.stopping(status: "lets what runs come to its end"))
    }

    private var storeConfiguration: StoreConfiguration {
        var store = StoreConfiguration(
            cacheDirectory: configuration.storage.cacheDirectory,
            stateDirectory: configuration.storage.stateDirectory
        )
        store.limits = StoreLimits(configuration)
        store.memoryBytes = configuration.cache.pageBytes
        store.readers = Server.readerCount
        store.uptime = { SystemClock().boot.monotonic().milliseconds }
        store.isClockSynchronized = SystemClock.isSynchronized
        store.viewChange = TargetViews.change
        store.sentBases = .byValue
        store.snapshotAge = Limits.snapshotAge
        return store
    }
}

/// Tells systemd the state of the daemon, if systemd wants to know it.
///
/// A failure is logged: systemd will act on the missing notice, and the log has the reason.
struct Announcer {
    let notifier: ServiceNotifier?
    let logger: Logger

    /// The configuration is read again from now on; `ready` has to follow.
    func tellReloading() {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        tell(.reloading(microseconds: Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1_000))
    }

    func tell(_ notice: ServiceNotice) {
        do throws(SystemdError) {
            try notifier?.send(notice)
        } catch {
            logger.warning("systemd was not told", metadata: .larder([.reason: "\(error.message)"]))
        }
    }
}

/// The folder of `cache.db`, made before anything is opened.
///
/// One that is there and cannot be written to may be again later: the daemon goes on without a
/// cache. One that cannot be made is a mistake of the configuration.
enum CacheFolder {
    /// Makes the folder and those above it; why it cannot be, or nil.
    static func fault(making path: String) -> String? {
        var made = ""
        for part in path.split(separator: "/") {
            made += "/" + part
            guard mkdir(made, 0o700) != 0, errno != EEXIST else { continue }
            // A full disk has room again some day.
            guard errno != ENOSPC, errno != EDQUOT else { return nil }
            return
                "storage.cache_directory: \(made) cannot be made: \(String(cString: strerror(errno)))"
        }
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else { return nil }
        return "storage.cache_directory: \(path) is no folder"
    }
}

/// The engine as a service: it ends after the server, which still needs it.
struct EngineService: Service {
    let engine: Engine

    func run() async {
        await withGracefulShutdownHandler {
            await engine.run()
        } onGracefulShutdown: {
            engine.stop()
        }
    }
}

/// The server as a service: on the first signal it drains.
struct ServerService: Service {
    let server: Server
    let listening: @Sendable () -> Void
    let ending: @Sendable () -> Void

    func run() async throws {
        try await withGracefulShutdownHandler {
            try await server.run(isListening: listening)
        } onGracefulShutdown: {
            ending()
            server.drain()
        }
    }
}

/// Background work, which is cancelled when the group ends the service.
struct BackgroundService: Service {
    let work: @Sendable () async -> Void

    func run() async {
        await cancelWhenGracefulShutdown { await work() }
    }
}
