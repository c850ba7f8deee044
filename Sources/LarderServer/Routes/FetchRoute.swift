import LarderEngine
import LarderWire
import NIOHTTP1

/// `/v1/fetch`: what is cached and what the network says, as frames.
struct FetchRoute {
    private let exchange: Exchange
    private let loop: LoopReader

    init(_ exchange: Exchange, _ loop: LoopReader) {
        self.exchange = exchange
        self.loop = loop
    }

    func answer(_ route: Route) async throws(Problem) {
        let command =
            if case .fetchByBody = route {
                try FetchCommand(json: await bodyOfCommand())
            } else {
                try FetchCommand(query: exchange.query)
            }
        let stream = FrameStream(exchange)
        let refusal = await exchange.engine.fetch(
            command,
            scope: exchange.scope(command.account),
            reader: loop.reader,
            interest: exchange.interest
        ) { frame in
            await stream.send(frame)
        }
        if let refusal { throw refusal }
        await exchange.writer.end()
    }

    /// A POST takes its parameters in the body only.
    private func bodyOfCommand() async throws(Problem) -> [UInt8] {
        let parameters = try QueryParameters(exchange.query)
        try parameters.refuseRest()
        return try await exchange.command()
    }
}

/// Frames on their way to a client; the head waits for the first.
private final class FrameStream {
    private let exchange: Exchange
    private var hasBegun = false

    init(_ exchange: Exchange) {
        self.exchange = exchange
    }

    /// False when nobody reads any more.
    func send(_ frame: FetchFrame) async -> Bool {
        if !hasBegun {
            hasBegun = true
            let headers: HTTPHeaders = [
                "Content-Type": mediaType, "Cache-Control": "no-store",
            ]
            guard await exchange.writer.begin(.ok, headers, isFlushed: false) else { return false }
        }
        var frame = frame
        if case .error(var problem) = frame {
            problem.requestID = exchange.server.nextRequestID()
            frame = .error(problem)
        }
        return await exchange.writer.send(frame.encodedLine())
    }

    private var mediaType: String {
        let accepted = exchange.head.headers["Accept"].joined(separator: ",")
        return accepted.contains("application/x-ndjson")
            ? "application/x-ndjson" : "application/jsonl"
    }
}
