import CZlib
import LarderModel

/// Decodes a body that an origin coded although the request asked for `identity` (RFC 9110 8.4.1).
///
/// Memory is bounded: each call gives at most ``Limits/decodedPieceBytes``, however much the coded
/// bytes expand.
final class ContentDecoder {
    enum Coding {
        case gzip
        case deflate

        /// The only coding of a Content-Encoding; nil if this type cannot decode the value.
        init?(_ value: String) {
            switch value.filter({ $0 != " " && $0 != "\t" }).lowercased() {
            case "gzip", "x-gzip": self = .gzip
            case "deflate": self = .deflate
            default: return nil
            }
        }
    }

    private let coding: Coding
    /// zlib keeps a pointer to the stream, so the stream has a fixed address.
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private var pending: [UInt8] = []
    private var taken = 0
    private var given = 0
    private var isOpen = false
    /// Whether the last decoded byte ended a gzip member or a zlib stream.
    private var isAtEnd = false

    init(_ coding: Coding) {
        self.coding = coding
        stream.initialize(to: z_stream())
    }

    deinit {
        if isOpen { inflateEnd(stream) }
        stream.deallocate()
    }

    /// Takes coded bytes; ``next()`` gives the decoded ones.
    func take(_ piece: [UInt8]) {
        pending += piece
        taken += piece.count
    }

    /// Decoded bytes, never empty; nil if the decoder needs more coded bytes.
    func next() throws(UpstreamError) -> [UInt8]? {
        // The first two bytes show the format.
        guard isOpen || pending.count >= 2 else { return nil }
        try open()
        while true {
            if isAtEnd {
                guard !pending.isEmpty else { return nil }
                // Another gzip member (RFC 1952 2.2).
                guard coding == .gzip, inflateReset(stream) == Z_OK else {
                    throw .brokenOff(reason: "bytes follow the end of its \(coding) stream")
                }
                isAtEnd = false
            }
            let decoded = try inflateSome()
            if !decoded.isEmpty { return decoded }
            if pending.isEmpty { return nil }
        }
    }

    /// Checks that the coded body ended where it should.
    func finish() throws(UpstreamError) {
        guard isAtEnd || taken == 0 else {
            throw .brokenOff(reason: "it ended inside its \(coding) stream")
        }
    }

    private func open() throws(UpstreamError) {
        guard !isOpen else { return }
        // 32: zlib or gzip, as the first bytes show. Some servers send `deflate` without zlib's
        // header.
        let hasZlibHeader =
            (Int(pending[0]) << 8 + Int(pending[1])) % 31 == 0
            && pending[0] & 0x0F == 8
        let isRaw = coding == .deflate && !hasZlibHeader
        guard larder_inflate_init(stream, isRaw ? -MAX_WBITS : MAX_WBITS + 32) == Z_OK else {
            throw .brokenOff(reason: "zlib cannot decode it")
        }
        isOpen = true
    }

    private func inflateSome() throws(UpstreamError) -> [UInt8] {
        var status = Z_OK
        var used = 0
        let decoded = pending.withUnsafeMutableBufferPointer { input in
            [UInt8](unsafeUninitializedCapacity: Limits.decodedPieceBytes) { output, count in
                stream.pointee.next_in = input.baseAddress
                stream.pointee.avail_in = UInt32(input.count)
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = UInt32(output.count)
                status = inflate(stream, Z_NO_FLUSH)
                used = input.count - Int(stream.pointee.avail_in)
                count = output.count - Int(stream.pointee.avail_out)
            }
        }
        pending.removeFirst(used)
        given += decoded.count
        isAtEnd = status == Z_STREAM_END
        // Z_BUF_ERROR: zlib needs more bytes.
        guard [Z_OK, Z_STREAM_END, Z_BUF_ERROR].contains(status) else {
            throw .brokenOff(reason: "its \(coding) stream is damaged")
        }
        guard given <= Limits.decodedFreeBytes || given / Limits.decodedRatioMax <= taken else {
            throw .brokenOff(reason: "its \(coding) stream expands more than a real one")
        }
        return decoded
    }
}
