import LarderEngine
import LarderServer
import ServiceLifecycle

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

    func run() async throws {
        try await withGracefulShutdownHandler {
            try await server.run(isListening: listening)
        } onGracefulShutdown: {
            server.drain()
        }
    }
}
