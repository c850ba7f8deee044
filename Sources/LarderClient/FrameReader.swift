import AsyncHTTPClient
import LarderModel
import NIOCore

/// A frame and the line that it came on, without its end.
package struct FrameLine<Frame: Sendable>: Sendable {
    package let bytes: [UInt8]
    package let frame: Frame
}

/// Reads the frames of one answer, a frame a line.
struct FrameReader<Frame: Decodable & Sendable> {
    private var body: HTTPClientResponse.Body.AsyncIterator
    private var splitter = LineSplitter()
    /// Kept because the connection closes when the client is released.
    private let client: LarderClient

    init(_ request: SocketRequest, of client: LarderClient) async throws(LarderError) {
        body = try await client.connection.send(request).body.makeAsyncIterator()
        self.client = client
    }

    /// The next frame of any type; throws ``LarderError/cutOff`` if the answer ends.
    mutating func next() async throws(LarderError) -> FrameLine<Frame> {
        while true {
            if let bytes = try splitter.next() {
                do throws(APIDecodingError) {
                    let frame = try APIDecoder(.lenient).decode(Frame.self, from: bytes)
                    return FrameLine(bytes: bytes, frame: frame)
                } catch {
                    throw .badAnswer(error.message)
                }
            }
            guard let chunk = try await body.nextChunk() else { throw .cutOff }
            splitter.append(chunk)
        }
    }

    /// Reads what follows the last frame, so that the connection can be used again.
    mutating func drain() async {
        // The frames are complete, so an error of the connection does not matter.
        while let chunk = try? await body.nextChunk(), !chunk.isEmpty {}
        withExtendedLifetime(client) {}
    }
}

extension HTTPClientResponse.Body.AsyncIterator {
    /// The next bytes of the body; nil at its end.
    mutating func nextChunk() async throws(LarderError) -> ByteBufferView? {
        do {
            if let buffer = try await next(isolation: #isolation) {
                return buffer.readableBytesView
            }
        } catch {
            throw LarderError(error)
        }
        // A cancelled task's sequence just ends.
        guard !Task.isCancelled else { throw .cancelled }
        return nil
    }
}

/// Cuts a stream of bytes into its lines; blank ones are left out.
struct LineSplitter {
    private var bytes: [UInt8] = []
    /// Index of the first byte that `next()` has not returned.
    private var start = 0
    /// Index up to which `bytes` has no line feed after `start`.
    private var searched = 0

    mutating func append(_ chunk: some Collection<UInt8>) {
        bytes.removeFirst(start)
        searched -= start
        start = 0
        bytes.append(contentsOf: chunk)
    }

    /// The next whole line without its end; nil until more bytes are here.
    mutating func next() throws(LarderError) -> [UInt8]? {
        while let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) {
            let line = bytes[start..<end]
            start = end + 1
            searched = start
            guard line.allSatisfy({ $0 == UInt8(ascii: "\r") }) else { return Array(line) }
        }
        searched = bytes.endIndex
        guard searched - start <= Limits.frameBytesMax else {
            throw .badAnswer("a line of more than \(Limits.frameBytesMax) bytes")
        }
        return nil
    }
}
