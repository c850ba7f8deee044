import LarderWire
import NIOHTTP1

/// Frames on their way to a client, in the form that it likes best; the head waits for the first.
final class FrameStream {
    private let exchange: Exchange
    private let format: FrameFormat
    private var hasBegun = false

    init(_ exchange: Exchange) {
        self.exchange = exchange
        format = FrameFormat(accepting: exchange.head.headers["Accept"])
    }

    /// False when nobody reads any more.
    func send(_ frame: some StreamFrame) async -> Bool {
        await send([frame])
    }

    /// Several at once.
    func send(_ frames: [some StreamFrame]) async -> Bool {
        if !hasBegun {
            hasBegun = true
            let headers: HTTPHeaders = [
                "Content-Type": format.mediaType, "Cache-Control": "no-store", "Vary": "Accept",
            ]
            guard await exchange.writer.begin(.ok, headers, isFlushed: false) else { return false }
        }
        return await exchange.writer.send(frames.flatMap(format.encode))
    }

    /// Says that the stream lives; before the first frame there is none yet.
    func beat() async -> Bool {
        guard hasBegun else { return true }
        return await exchange.writer.send(format.heartbeat)
    }
}
