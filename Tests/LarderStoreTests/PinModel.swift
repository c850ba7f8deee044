import LarderModel

@testable import LarderStore

/// What pins promise, in memory: the bytes that were last given for each pinned id.
struct PinModel {
    struct Pinned: Equatable {
        /// Nil while there are none.
        var bytes: [UInt8]?
        var state: PinState
        /// The size that counts.
        var size: Int64
    }

    var pins: [String: Pinned] = [:]
    let maxBytes: Int64
    /// What one user alone may pin of it: nine tenths.
    var partBytes: Int64 { (maxBytes * 9 + 9) / 10 }

    var bytes: Int64 { pins.values.reduce(0) { $0 + $1.size } }

    /// Whether an entry of this size fits in place of what an id's pin holds.
    func fits(_ size: Int64, in id: String) -> Bool {
        let old = pins[id]?.size ?? 0
        let isInPart = size <= old || bytes - old + size <= partBytes
        return isInPart && bytes - old + size <= maxBytes
    }
}
