import CBrotli
import CZlib
import CZstd
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

/// gzip (RFC 1952) with any number of members, or the `deflate` of HTTP.
final class ZlibStream: CodedStream {
    private let coding: ContentCoding
    /// zlib keeps a pointer to the stream, so the stream has a fixed address.
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private var isOpen = false

    init(_ coding: ContentCoding) {
        self.coding = coding
        stream.initialize(to: z_stream())
    }

    deinit {
        if isOpen { inflateEnd(stream) }
        stream.deallocate()
    }

    func decode(
        _ input: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) -> DecodingStep? {
        if !isOpen {
            // The first two bytes show the format.
            guard input.count >= 2 else {
                return DecodingStep(used: 0, written: 0, isAtEnd: false)
            }
            guard open(input[0], input[1]) else { return nil }
        }
        let bytes = input.bindMemory(to: UInt8.self)
        stream.pointee.next_in = UnsafeMutablePointer(mutating: bytes.baseAddress)
        stream.pointee.avail_in = UInt32(bytes.count)
        stream.pointee.next_out = output.bindMemory(to: UInt8.self).baseAddress
        stream.pointee.avail_out = UInt32(output.count)
        let status = inflate(stream, Z_NO_FLUSH)
        // Z_BUF_ERROR: zlib needs more bytes.
        guard [Z_OK, Z_STREAM_END, Z_BUF_ERROR].contains(status) else { return nil }
        return DecodingStep(
            used: input.count - Int(stream.pointee.avail_in),
            written: output.count - Int(stream.pointee.avail_out),
            isAtEnd: status == Z_STREAM_END
        )
    }

    func restart() -> Bool { coding == .gzip && inflateReset(stream) == Z_OK }

    private func open(_ first: UInt8, _ second: UInt8) -> Bool {
        // 32: zlib or gzip, as the first bytes show. Some servers send `deflate` without zlib's
        // header.
        let hasZlibHeader =
            (Int(first) << 8 + Int(second)) % 31 == 0 && first & 0x0F == 8
        let isRaw = coding == .deflate && !hasZlibHeader
        isOpen = larder_inflate_init(stream, isRaw ? -MAX_WBITS : MAX_WBITS + 32) == Z_OK
        return isOpen
    }
}

/// Brotli (RFC 7932); its windows have at most 16 MiB, as the decoder takes no large ones.
final class BrotliStream: CodedStream {
    private let state: OpaquePointer? = {
        let state = BrotliDecoderCreateInstance(nil, nil, nil)
        if let state { BrotliDecoderSetParameter(state, BROTLI_DECODER_PARAM_LARGE_WINDOW, 0) }
        return state
    }()

    deinit {
        if let state { BrotliDecoderDestroyInstance(state) }
    }

    func decode(
        _ input: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) -> DecodingStep? {
        guard let state else { return nil }
        var (inputLeft, outputLeft) = (input.count, output.count)
        var nextInput = input.bindMemory(to: UInt8.self).baseAddress
        var nextOutput = output.bindMemory(to: UInt8.self).baseAddress
        let result = BrotliDecoderDecompressStream(
            state,
            &inputLeft,
            &nextInput,
            &outputLeft,
            &nextOutput,
            nil
        )
        guard result != BROTLI_DECODER_RESULT_ERROR else { return nil }
        return DecodingStep(
            used: input.count - inputLeft,
            written: output.count - outputLeft,
            isAtEnd: result == BROTLI_DECODER_RESULT_SUCCESS
        )
    }

    func restart() -> Bool { false }
}

/// Zstandard (RFC 8878) with any number of frames; a window has at most 8 MiB (RFC 9659).
final class ZstdStream: CodedStream {
    private let context: OpaquePointer? = {
        guard let context = ZSTD_createDStream() else { return nil }
        let limit = CInt(Limits.zstdWindowLogMax)
        guard ZSTD_isError(ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, limit)) == 0 else {
            ZSTD_freeDStream(context)
            return nil
        }
        return context
    }()

    deinit {
        ZSTD_freeDStream(context)
    }

    func decode(
        _ input: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) -> DecodingStep? {
        guard let context else { return nil }
        var source = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
        var target = ZSTD_outBuffer(dst: output.baseAddress, size: output.count, pos: 0)
        let rest = ZSTD_decompressStream(context, &target, &source)
        guard ZSTD_isError(rest) == 0 else { return nil }
        return DecodingStep(used: source.pos, written: target.pos, isAtEnd: rest == 0)
    }

    /// The decoder begins the next frame by itself.
    func restart() -> Bool { true }
}
