import LarderEngine
import LarderStore
import LarderWire
import NIOCore

/// Runs the longer answers of one event loop, on that loop, with a reader of its own.
actor LoopWorker {
    /// To be preferred by the tasks that the answers run in.
    nonisolated let executor: LoopExecutor
    private let eventLoop: any EventLoop
    private let server: ServerContext
    private var opened: LoopReader?

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    init(_ eventLoop: any EventLoop, _ server: ServerContext) {
        self.eventLoop = eventLoop
        self.server = server
        executor = LoopExecutor(eventLoop)
    }

    /// Answers one request.
    func answer(_ route: Route, _ exchange: Exchange) async {
        let loop: LoopReader
        do throws(StoreError) {
            loop = try reader()
        } catch {
            return await exchange.respond(Problem(error))
        }
        do throws(Problem) {
            switch route {
            case .entries(let route): try await EntryRoutes(exchange, loop).answer(route)
            case .entities(let route): try await EntityRoutes(exchange, loop).answer(route)
            case .fetch(let route): try await FetchRoutes(exchange, loop).answer(route)
            case .modifiers(let route): try await ModifierRoutes(exchange).answer(route)
            case .watch(let route): try await WatchRoutes(exchange).answer(route)
            case .pins(let route): try await PinRoutes(exchange).answer(route)
            case .origins(let route): try await OriginRoutes(exchange).answer(route)
            case .administration(let route):
                try await AdministrationRoutes(exchange, loop).answer(route)
            case .raw(let route): try await RawRoutes(exchange, loop).answer(route)
            }
        } catch {
            await exchange.respond(error)
        }
    }

    private func reader() throws(StoreError) -> LoopReader {
        if let opened { return opened }
        let loop = LoopReader(try server.engine.store.makeReader(), eventLoop)
        opened = loop
        return loop
    }
}
