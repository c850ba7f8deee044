import CXXHash
package import LarderModel

/// The hashes of the store: XXH3 of libxxhash (https://xxhash.com), stable since its 0.8.0.
///
/// They find damage and sameness, and are no defence against collisions made on purpose: ids are
/// compared in full, and equal digests only keep a client from being told of a change.
enum Checksum {
    static func digest(_ bytes: UnsafeRawBufferPointer) -> Digest {
        let hash = XXH3_128bits(bytes.baseAddress, bytes.count)
        return Digest(high: hash.high64, low: hash.low64)
    }

    static func chunk(_ bytes: UnsafeRawBufferPointer) -> Int64 {
        Int64(bitPattern: XXH3_64bits(bytes.baseAddress, bytes.count))
    }

    static func keyedDigest(_ text: String, seed: UInt64) -> Digest {
        var text = text
        return text.withUTF8 { utf8 in
            let hash = XXH3_128bits_withSeed(utf8.baseAddress, utf8.count, seed)
            return Digest(high: hash.high64, low: hash.low64)
        }
    }

    static func keyed(_ text: String, seed: UInt64) -> UInt64 {
        var text = text
        return text.withUTF8 { XXH3_64bits_withSeed($0.baseAddress, $0.count, seed) }
    }
}

/// The digest of a body that comes in pieces, equal to the digest of the whole.
package struct RunningDigest: ~Copyable {
    private let state: OpaquePointer?
    package private(set) var byteCount = 0

    package init() {
        state = XXH3_createState()
        XXH3_128bits_reset(state)
    }

    deinit {
        XXH3_freeState(state)
    }

    package mutating func update(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { _ = XXH3_128bits_update(state, $0.baseAddress, $0.count) }
        byteCount += bytes.count
    }

    package func digest() -> Digest {
        let hash = XXH3_128bits_digest(state)
        return Digest(high: hash.high64, low: hash.low64)
    }
}

extension BodySummary {
    package init(of bytes: [UInt8], isJSON: Bool) {
        let digest = bytes.withUnsafeBytes { Checksum.digest($0) }
        self.init(byteCount: bytes.count, digest: digest, isJSON: isJSON)
    }
}
