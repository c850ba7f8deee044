/// A value with references as readable JSON: a `0` replaces each reference, and its offset is
/// known.
struct PlaceholderJSON {
    let bytes: [UInt8]
    let tape: JSONTape
    /// The texts of the keys, in order.
    let keys: [[UInt8]]
    /// The offsets of their `0`, ascending.
    let offsets: [Int]

    /// Returns nil if the value is not JSON, as in a damaged file.
    init?(_ value: UnsafeRawBufferPointer, hasReferences: Bool) {
        var bytes: [UInt8] = []
        var keys: [[UInt8]] = []
        var offsets: [Int] = []
        if hasReferences {
            bytes.reserveCapacity(value.count)
            var parts = ReferenceText(0..<value.count)
            reading: while true {
                switch parts.next(in: value) {
                case .text(let range): bytes.append(contentsOf: value[range])
                case .reference(let range):
                    offsets.append(bytes.count)
                    keys.append(Array(value[range]))
                    bytes.append(UInt8(ascii: "0"))
                case .end: break reading
                case .damage: return nil
                }
            }
        } else {
            bytes = Array(value)
        }
        do throws(JSONTape.Failure) {
            // A merged list may have more values than one body.
            tape = try bytes.withUnsafeBufferPointer { (bytes) throws(JSONTape.Failure) in
                try JSONTape(UnsafeRawBufferPointer(bytes), valuesMax: .max)
            }
        } catch {
            return nil
        }
        self.bytes = bytes
        self.keys = keys
        self.offsets = offsets
    }

    /// The key of the reference at an item; nil for a value.
    func key(at item: Int) -> [UInt8]? { placeholder(at: item).map { keys[$0] } }

    /// The index of the reference at an item; nil for a value.
    func placeholder(at item: Int) -> Int? {
        let start = Int(tape.items[item].start)
        let number = firstHole(from: start)
        return number < offsets.count && offsets[number] == start ? number : nil
    }

    /// Appends an item's text with the references in it.
    func append(_ item: Int, to builder: inout CutBuilder) {
        append(tape.items[item].range, to: &builder)
    }

    /// Appends a part of the text with the references in it.
    func append(_ range: Range<Int>, to builder: inout CutBuilder) {
        bytes.withUnsafeBytes { bytes in
            var start = range.lowerBound
            var number = firstHole(from: start)
            while number < offsets.count, offsets[number] < range.upperBound {
                builder.text(bytes.part(start..<offsets[number]))
                keys[number].withUnsafeBytes { builder.reference($0) }
                start = offsets[number] + 1
                number += 1
            }
            builder.text(bytes.part(start..<range.upperBound))
        }
    }

    /// The index of the first reference at this offset or after it.
    private func firstHole(from offset: Int) -> Int {
        var low = 0
        var high = offsets.count
        while low < high {
            let middle = (low + high) / 2
            if offsets[middle] < offset { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
