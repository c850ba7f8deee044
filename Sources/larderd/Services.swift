import LarderEngine
import LarderModel
import LarderServer
import LarderSystemd
import LarderWire
import Logging
import ServiceLifecycle
import UnixSignals

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

/// Reads the configuration again at each SIGHUP.
struct ReloadService: Service {
    let server: Server
    let hangUps: UnixSignalsSequence

    func run() async {
        await cancelWhenGracefulShutdown {
            for await _ in hangUps { await server.reload() }
        }
    }
}

/// Reads the files of configured credentials again when they change.
struct CredentialFileService: Service {
    let reloader: Reloader
    let engine: Engine

    func run() async {
        await cancelWhenGracefulShutdown {
            while (try? await engine.clock.sleep(for: Limits.credentialFileTime)) != nil {
                await reloader.readCredentialFiles()
                await engine.credentials.readFiles()
            }
        }
    }
}

/// Tells systemd in time that the daemon works: as long as a read of the store succeeds.
///
/// It goes on while the server drains.
struct WatchdogService: Service {
    let watchdog: Watchdog
    let engine: Engine
    let announcer: Announcer
    let logger: Logger

    func run() async {
        await cancelWhenGracefulShutdown {
            await watchdog.feed(
                sleep: { try await engine.clock.sleep(for: $0) },
                isWell: { await isWell() },
                tell: { announcer.tell(.watchdog) }
            )
        }
    }

    private func isWell() async -> Bool {
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
}
