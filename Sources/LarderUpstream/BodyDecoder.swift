import LarderModel

/// Content coding that the upstream can decode (RFC 9110 8.4.1).
enum ContentCoding: String, CaseIterable {
    case gzip
    case deflate
    case brotli = "br"
    case zstd

    /// Codings that a request accepts; deflate is not among them, as servers disagree about it.
    static let accepted = "gzip, br, zstd"

    /// A coding by its name in lower case; nil for an unknown one.
    init?(_ name: String) {
        self.init(rawValue: name == "x-gzip" ? "gzip" : name)
    }

    fileprivate var stream: any CodedStream {
        switch self {
        case .gzip, .deflate: ZlibStream(self)
        case .brotli: BrotliStream()
        case .zstd: ZstdStream()
        }
    }
}

/// Stream of one coding; a conformer holds the decoder of its library.
protocol CodedStream: AnyObject {
    /// Decodes a part of `input` into `output`; nil if the stream is damaged.
    ///
    /// Bytes that were not used come again, with more bytes after them.
    func decode(
        _ input: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) -> DecodingStep?

    /// Prepares for a stream after the end of this one; false if the coding has only one.
    func restart() -> Bool
}

struct DecodingStep {
    var used: Int
    var written: Int
    /// Whether the last used byte ended the stream.
    var isAtEnd: Bool
}

/// Decodes the body of an answer while it arrives.
///
/// Memory is bounded: each call gives at most ``Limits/decodedPieceBytes``, however much the coded
/// bytes expand, and no coding has a window of more than 16 MiB.
///
/// Invariants:
/// 1. After ``Limits/decodedFreeBytes`` a body expands at most ``Limits/decodedRatioMax`` times.
/// 2. The same coded bytes give the same body or an error, in pieces of any sizes.
final class BodyDecoder {
    private let coding: ContentCoding
    private let stream: any CodedStream
    private var pending: [UInt8] = []
    /// Number of bytes of `pending` that the stream has used.
    private var used = 0
    private var taken = 0
    private var given = 0
    private var isAtEnd = false
    /// Whether the library may hold decoded bytes for which the output had no room.
    private var hasMore = false

    init(_ coding: ContentCoding) {
        self.coding = coding
        stream = coding.stream
    }

    /// Takes coded bytes; ``next()`` gives the decoded ones.
    func take(_ piece: [UInt8]) {
        pending = used == pending.count ? piece : pending[used...] + piece
        used = 0
        taken += piece.count
    }

    /// Decoded bytes, never empty; nil if the decoder needs more coded bytes.
    func next() throws(UpstreamError) -> [UInt8]? {
        while used < pending.count || hasMore {
            if isAtEnd {
                guard stream.restart() else {
                    throw .undecodable(reason: "bytes follow the end of its \(name) stream")
                }
                isAtEnd = false
            }
            let before = used
            let decoded = try decodeSome()
            if !decoded.isEmpty { return decoded }
            guard used > before else { return nil }
        }
        return nil
    }

    /// Checks that the coded body ended at the end of a stream.
    func finish() throws(UpstreamError) {
        guard isAtEnd || taken == 0 else {
            throw .undecodable(reason: "it ended inside its \(name) stream")
        }
    }

    private var name: String { coding.rawValue }

    private func decodeSome() throws(UpstreamError) -> [UInt8] {
        var step: DecodingStep?
        let decoded = pending.withUnsafeBytes { input in
            [UInt8](unsafeUninitializedCapacity: Limits.decodedPieceBytes) { output, count in
                step = stream.decode(
                    UnsafeRawBufferPointer(rebasing: input[used...]),
                    into: UnsafeMutableRawBufferPointer(output)
                )
                count = step?.written ?? 0
            }
        }
        guard let step else { throw .undecodable(reason: "its \(name) stream is damaged") }
        used += step.used
        given += step.written
        isAtEnd = step.isAtEnd
        hasMore = !isAtEnd && step.written == Limits.decodedPieceBytes
        guard given <= Limits.decodedFreeBytes || given / Limits.decodedRatioMax <= taken else {
            throw .expandsTooMuch
        }
        return decoded
    }
}
