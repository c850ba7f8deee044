/// The bytes of an answer, piece by piece, once and for one reader.
///
/// The upstream reads the origin no faster than the reader asks for pieces.
package struct UpstreamBody {
    private let readNext: () async throws(UpstreamError) -> [UInt8]?

    /// Makes a body of the pieces that `next` returns; nil ends the body.
    ///
    /// After nil or an error, `next` is not called again.
    package init(_ next: @escaping () async throws(UpstreamError) -> [UInt8]?) {
        readNext = next
    }

    /// The next piece, never empty, or nil at the end.
    package func next() async throws(UpstreamError) -> [UInt8]? {
        try await readNext()
    }

    /// Reads up to so many bytes, and says whether that is the whole body.
    package func read(upTo limit: Int) async -> (bytes: [UInt8], isWhole: Bool) {
        var bytes: [UInt8] = []
        do throws(UpstreamError) {
            while let piece = try await next() {
                guard bytes.count + piece.count <= limit else {
                    return (bytes + piece.prefix(limit - bytes.count), false)
                }
                bytes += piece
            }
            return (bytes, true)
        } catch {
            return (bytes, false)
        }
    }

    func decoded(_ coding: ContentDecoder.Coding) -> UpstreamBody {
        let decoder = ContentDecoder(coding)
        return UpstreamBody { () async throws(UpstreamError) -> [UInt8]? in
            while true {
                if let decoded = try decoder.next() { return decoded }
                guard let piece = try await self.next() else { break }
                decoder.take(piece)
            }
            try decoder.finish()
            return nil
        }
    }
}
