import CBrotli
import CZlib
import CZstd
import LarderModel

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
