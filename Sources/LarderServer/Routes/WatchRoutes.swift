import LarderAPI
import LarderEngine
import LarderModel
import LarderWire
import NIOHTTP1

/// `/v1/watch`: what changes, as frames or as a long poll.
struct WatchRoutes {
    private let exchange: Exchange

    init(_ exchange: Exchange) {
        self.exchange = exchange
    }

    func answer(byQuery: Bool) async throws(Problem) {
        var given = try await command(byQuery: byQuery)
        given.options.account = try exchange.account(given.options.account)
        var command = try WatchOrder(given)
        if let last = exchange.head.headers.first(name: "Last-Event-ID") {
            try command.takeLastEventID(last)
        }
        guard !FrameFormat.isArrayNamed(in: exchange.accepted) else {
            guard command.timeout != nil else {
                throw Problem(
                    .notAcceptable,
                    "a watch without timeout has no end, and is no application/json",
                    hint: "Accept application/jsonl or text/event-stream, or give timeout."
                )
            }
            return try await poll(command)
        }
        let stream = FrameStream(exchange)
        let refusal = await exchange.engine.watches.watch(
            command,
            scope: exchange.scope(command.account),
            client: try exchange.client,
            interest: exchange.interest,
            emit: { frames in await stream.send(frames) }
        )
        if let refusal { throw refusal }
        await stream.end()
    }

    private func poll(_ command: WatchOrder) async throws(Problem) {
        let report = try await exchange.engine.watches.poll(
            command,
            scope: exchange.scope(command.account),
            client: try exchange.client,
            interest: exchange.interest
        )
        await exchange.writer.respond(
            .ok,
            ["Content-Type": "application/json", "Cache-Control": "no-store", "Vary": "Accept"],
            body: APIEncoder().encode(report)
        )
    }

    /// A POST takes its parameters in the body only.
    private func command(byQuery: Bool) async throws(Problem) -> WatchCommand {
        guard byQuery else { return try await exchange.command() }
        let query: WatchQuery = try exchange.parameters()
        return WatchCommand(query)
    }
}
