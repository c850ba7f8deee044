import LarderAPI
import LarderConfiguration
import LarderEngine
import LarderModel
import LarderServer
import LarderStore
import LarderSystemd
import LarderWire
import Logging
import Synchronization

/// Reads the configuration again while the daemon runs.
///
/// The reloader applies all keys that can change at run time. If any key is wrong, it applies none.
final class Reloader: Sendable {
    typealias Load = @Sendable () throws(ConfigurationError) -> Configuration

    private let load: Load
    private let engine: Engine
    private let announcer: Announcer
    private let logger: Logger
    /// Status that systemd shows for a serving daemon.
    private let status: String
    private let inForce: Mutex<Configuration>

    init(
        _ configuration: Configuration,
        load: @escaping Load,
        engine: Engine,
        announcer: Announcer,
        logger: Logger,
        status: String
    ) {
        self.load = load
        self.engine = engine
        self.announcer = announcer
        self.logger = logger
        self.status = status
        inForce = Mutex(configuration)
    }

    /// Reads the configuration, takes or refuses it, and logs the result; one at a time.
    func reload(
        _ take: @escaping @Sendable (ServerStanding) -> Void
    ) async -> ReloadReport {
        announcer.tellReloading()
        defer { announcer.tell(.ready(status: status)) }
        let report: ReloadReport
        do throws(Problem) {
            report = try await engine.origins.reload { [self] (replace) throws(Problem) in
                try self.take(try read(), replace, take)
            }
        } catch {
            var refusal = ReloadReport(.refused, file: inForce.withLock { $0.file })
            let sentences = error.detail.split(separator: "\n").map(String.init)
            refusal.refused = Array(sentences.prefix(Limits.statusFindingsMax))
            report = refusal
        }
        tell(report)
        return report
    }

    /// Reads the files of configured credentials again.
    func readCredentialFiles() async {
        var new = inForce.withLock { $0 }
        guard new.readCredentialFiles() else { return }
        do throws(Problem) {
            try await engine.origins.reload { [self] (replace) throws(Problem) in
                var new = inForce.withLock { $0 }
                _ = new.readCredentialFiles()
                _ = try replace(new.knownOrigins.filter { $0.source != .api })
                inForce.withLock { $0 = new }
            }
            logger.notice("the file of a credential changed")
        } catch {
            logger.error(
                "the file of a credential was not taken",
                metadata: .larder([.reason: "\(error.detail)"])
            )
        }
    }

    private func read() throws(Problem) -> Configuration {
        do throws(ConfigurationError) {
            return try load()
        } catch {
            throw Problem(.badRequest, error.description)
        }
    }

    private func take(
        _ new: Configuration,
        _ replaceOrigins: ([KnownOrigin]) throws(Problem) -> [OriginName],
        _ take: (ServerStanding) -> Void
    ) throws(Problem) -> ReloadReport {
        let old = inForce.withLock { $0 }
        let (taken, needingRestart) = new.changes(from: old)
        // The daemon has the origins of the state directory in memory.
        let configured = new.knownOrigins.filter { $0.source != .api }
        let origins = try replaceOrigins(configured)
        // From here on nothing fails.
        let now = new.inForce(after: old)
        engine.setLimits(StoreLimits(now))
        engine.monitor.setFindings(now.warnings)
        LogSetup.setLevel(now.log.level, of: logger)
        take(ServerStanding(now, readAt: engine.clock.now()))
        inForce.withLock { $0 = now }
        var report = ReloadReport(.taken, file: now.file.map(absolutePath))
        report.taken = taken.map(\.rawValue) + origins.map { "origins.\($0)" }
        report.needsRestart = needingRestart.map(\.rawValue)
        report.warnings = Array(now.warnings.prefix(Limits.statusFindingsMax))
        return report
    }

    private func tell(_ report: ReloadReport) {
        for sentence in report.refused {
            logger.error("configuration refused", metadata: .larder([.reason: "\(sentence)"]))
        }
        guard report.state == .taken else { return }
        let taken = report.taken.joined(separator: " ")
        logger.notice(
            "configuration taken",
            metadata: .larder([
                .path: "\(report.file ?? "none")", .state: "\(taken.isEmpty ? "unchanged" : taken)",
            ])
        )
        if !report.needsRestart.isEmpty {
            let keys = report.needsRestart.joined(separator: " ")
            logger.warning("configuration needs a restart", metadata: .larder([.state: "\(keys)"]))
        }
        for sentence in report.warnings {
            logger.warning("the configuration", metadata: .larder([.reason: "\(sentence)"]))
        }
    }
}

extension StoreLimits {
    init(_ configuration: Configuration) {
        self.init()
        maxBytes = configuration.cache.maxBytes
        maxEntryBytes = configuration.cache.maxEntryBytes
        lowWatermark = configuration.cache.lowWatermark
        minFreeBytes = configuration.cache.minFreeBytes
        pinsMaxBytes = configuration.pins.maxBytes
        queue.maxModifiers = Int64(configuration.queue.maxModifiers)
        queue.maxBytes = configuration.queue.maxBytes.bytes
        queue.history = Int64(configuration.queue.history)
        queue.historyBytes = configuration.queue.historyBytes.bytes
        queue.userShare = configuration.access.userShare
    }
}

extension ServerStanding {
    init(_ configuration: Configuration, readAt: LarderModel.Timestamp) {
        let group = configuration.access.adminGroup
        self.init(
            administrators: Administrators(
                daemonUID: ProcessEnvironment.uid,
                group: .init(name: group, number: AccountLookup.groupNumber(group))
            ),
            configuration: ConfigurationStatus(
                file: configuration.file.map(absolutePath),
                readAt: .init(readAt),
                socketMode: "0" + String(configuration.sockets.mode, radix: 8)
            )
        )
    }
}
