import LarderEngine
import LarderModel
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
    func answer(_ match: RouteMatch, _ exchange: Exchange) async {
        await answer(exchange) { (loop) throws(Problem) in try await match.answer(exchange, loop) }
    }

    /// Answers a read of an entry.
    func read(_ id: EntryID, _ exchange: Exchange) async {
        await answer(exchange) { (loop) throws(Problem) in
            try await EntryRoutes(exchange, loop).read(id)
        }
    }

    private func answer(
        _ exchange: Exchange,
        _ handler: (LoopReader) async throws(Problem) -> Void
    ) async {
        let loop: LoopReader
        do throws(StoreError) {
            loop = try reader()
        } catch {
            return await exchange.respond(Problem(error))
        }
        do throws(Problem) {
            try await handler(loop)
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
