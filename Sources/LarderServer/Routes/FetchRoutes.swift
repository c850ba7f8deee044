import LarderAPI
import LarderEngine
import LarderWire
import NIOHTTP1

/// `/v1/fetch`: what is cached and what the network says, as frames.
struct FetchRoutes {
    private let exchange: Exchange
    private let loop: LoopReader

    init(_ exchange: Exchange, _ loop: LoopReader) {
        self.exchange = exchange
        self.loop = loop
    }

    func answer(byQuery: Bool) async throws(Problem) {
        if exchange.head.headers.first(name: "Last-Event-ID") == FrameFormat.endID {
            return await exchange.writer.respond(.noContent)
        }
        var given = try await command(byQuery: byQuery)
        given.options.account = try exchange.account(given.options.account)
        let command = try FetchOrder(given)
        guard FrameFormat.isArrayNamed(in: exchange.accepted) else {
            let stream = FrameStream(exchange)
            try await fetch(command) { frame in await stream.send(frame) }
            return await stream.end()
        }
        guard !command.follows else {
            throw Problem(
                .notAcceptable,
                "what is followed has no end, and is no application/json",
                hint: "Accept application/jsonl or text/event-stream, or leave follow out."
            )
        }
        let array = FrameArray(exchange)
        try await fetch(command) { frame in array.take(frame) }
        try await array.end()
    }

    private func fetch(
        _ command: FetchOrder,
        emit: @escaping (FetchFrame) async -> Bool
    ) async throws(Problem) {
        let refusal = await exchange.engine.fetch(
            command,
            scope: exchange.scope(command.account),
            client: try exchange.client,
            reader: loop.reader,
            interest: exchange.interest,
            emit: { frame in await emit(named(frame)) }
        )
        if let refusal { throw refusal }
    }

    /// A problem frame with a request id of its own.
    private func named(_ frame: FetchFrame) -> FetchFrame {
        guard case .problem(var frame) = frame else { return frame }
        frame.problem = exchange.told(frame.problem)
        frame.problem.requestID = exchange.server.nextRequestID()
        return .problem(frame)
    }

    /// A POST takes its parameters in the body only.
    private func command(byQuery: Bool) async throws(Problem) -> FetchCommand {
        guard byQuery else { return try await exchange.command() }
        return try exchange.parameters(hint: Self.encodeHint)
    }

    static let encodeHint = """
        If it is part of the URL, the URL was not percent-encoded: \
        curl -G --data-urlencode url=URL …/v1/fetch
        """
}
