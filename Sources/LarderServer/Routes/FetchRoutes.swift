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

    func answer(_ route: FetchRoute) async throws(Problem) {
        let command =
            switch route {
            case .byBody: try await commandOfBody()
            case .byQuery: try FetchCommand(query: exchange.query)
            }
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
        _ command: FetchCommand,
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

    /// An error frame with a request id of its own.
    private func named(_ frame: FetchFrame) -> FetchFrame {
        guard case .error(var problem) = frame else { return frame }
        problem = exchange.told(problem)
        problem.requestID = exchange.server.nextRequestID()
        return .error(problem)
    }

    /// A POST takes its parameters in the body only.
    private func commandOfBody() async throws(Problem) -> FetchCommand {
        let parameters = try QueryParameters(exchange.query)
        try parameters.refuseRest()
        return try await exchange.command { json throws(Problem) in try FetchCommand(json: json) }
    }
}
