import LarderModel
import LarderWire
import NIOHTTP1

/// Frames on their way to a client, in the form that it likes best; the head waits for the first.
final class FrameStream {
    private let exchange: Exchange
    private let format: FrameFormat
    private var hasBegun = false

    init(_ exchange: Exchange) {
        self.exchange = exchange
        format = FrameFormat(accepting: exchange.accepted)
    }

    /// Returns false once the connection is closed.
    func send(_ frame: some StreamFrame) async -> Bool {
        await send([frame])
    }

    func send(_ frames: [some StreamFrame]) async -> Bool {
        if !hasBegun {
            hasBegun = true
            let headers = exchange.frameHeaders(format.mediaType)
            guard await exchange.writer.begin(.ok, headers, isFlushed: false) else { return false }
        }
        return await exchange.writer.send(frames.flatMap(format.encode))
    }

    func end() async {
        await exchange.writer.end()
    }
}

extension Exchange {
    var accepted: [String] { head.headers["Accept"] }

    fileprivate func frameHeaders(_ mediaType: String) -> HTTPHeaders {
        ["Content-Type": mediaType, "Cache-Control": "no-store", "Vary": "Accept"]
    }
}

/// The frames of one answer as a JSON array, for a client that reads no stream.
///
/// The array is sent with its length once the last frame is there, and without heartbeats.
final class FrameArray {
    private let exchange: Exchange
    private let memory: UserShare?
    private var pieces: [[UInt8]] = []
    private var byteCount = 0
    private var refusal: Problem?

    init(_ exchange: Exchange) {
        self.exchange = exchange
        memory = exchange.server.memory.take(0, for: exchange.peer.uid)
    }

    /// False when there is no room for it, which ``end()`` then says.
    func take(_ frame: some StreamFrame) -> Bool {
        guard !frame.isHeartbeat else { return true }
        let mark: UInt8 = pieces.isEmpty ? UInt8(ascii: "[") : UInt8(ascii: ",")
        let piece = [mark] + frame.encodedJSON()
        byteCount += piece.count
        guard let memory, memory.grow(to: byteCount) else {
            refusal = Problem(
                .overloaded,
                "answers and bodies of this user wait with \(Limits.heldBytesPerUserMax) bytes already",
                hint: "Accept application/jsonl, which is sent as it comes."
            )
            return false
        }
        pieces.append(piece)
        return true
    }

    /// Sends what was taken, a frame at a time.
    func end() async throws(Problem) {
        if let refusal { throw refusal }
        pieces.append(Array((pieces.isEmpty ? "[]" : "]").utf8))
        var headers = exchange.frameHeaders(MediaType.json)
        headers.add(name: "Content-Length", value: String(pieces.reduce(0) { $0 + $1.count }))
        guard await exchange.writer.begin(.ok, headers, isFlushed: false) else { return }
        for index in pieces.indices {
            guard await exchange.writer.send(pieces[index]) else { return }
            pieces[index] = []
        }
        await exchange.writer.end()
    }
}
