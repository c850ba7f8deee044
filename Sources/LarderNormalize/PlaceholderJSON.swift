import LarderJSON

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

extension PlaceholderJSON {
    /// Whether both say the same, as ``JSONValue/isSame(as:)`` has it, with two differences: a
    /// reference is the same as one to the same entity, and half a surrogate pair only as itself.
    func isSame(as other: PlaceholderJSON) -> Bool {
        bytes.withUnsafeBytes { left in
            other.bytes.withUnsafeBytes { right in
                Comparison(left: self, right: other, leftBytes: left, rightBytes: right)
                    .areSame(0, 0)
            }
        }
    }

    private struct Comparison {
        let left: PlaceholderJSON
        let right: PlaceholderJSON
        let leftBytes: UnsafeRawBufferPointer
        let rightBytes: UnsafeRawBufferPointer

        func areSame(_ leftItem: Int, _ rightItem: Int) -> Bool {
            let ours = left.tape.items[leftItem]
            let theirs = right.tape.items[rightItem]
            let key = left.key(at: leftItem)
            guard key == right.key(at: rightItem), ours.kind == theirs.kind else { return false }
            guard key == nil else { return true }
            switch ours.kind {
            case .string:
                return left.tape.text(of: leftItem, in: leftBytes)
                    == right.tape.text(of: rightItem, in: rightBytes)
            case .number:
                return leftBytes.hasBytes(ours.range, rightBytes.part(theirs.range))
                    || Self.hasSameValue(leftBytes.part(ours.range), rightBytes.part(theirs.range))
            case .beginArray: return areSameElements(leftItem, rightItem)
            case .beginObject: return areSameMembers(leftItem, rightItem)
            case .true, .false, .null, .name, .endArray, .endObject: return true
            }
        }

        private static func hasSameValue(
            _ left: UnsafeRawBufferPointer,
            _ right: UnsafeRawBufferPointer
        ) -> Bool {
            guard case .number(let left) = try? JSONValue(parsing: left),
                case .number(let right) = try? JSONValue(parsing: right)
            else { return false }
            return left.hasSameValue(as: right)
        }

        private func areSameElements(_ leftItem: Int, _ rightItem: Int) -> Bool {
            var ours = left.tape.children(of: leftItem)
            var theirs = right.tape.children(of: rightItem)
            while let item = ours.next() {
                guard let other = theirs.next(), areSame(item, other) else { return false }
            }
            return theirs.next() == nil
        }

        private func areSameMembers(_ leftItem: Int, _ rightItem: Int) -> Bool {
            let ours = Self.members(of: leftItem, left.tape, leftBytes)
            let theirs = Self.members(of: rightItem, right.tape, rightBytes)
            return ours.count == theirs.count
                && ours.allSatisfy { name, item in
                    theirs[name].map { areSame(item, $0) } ?? false
                }
        }

        /// The last member of each name.
        private static func members(
            of item: Int,
            _ tape: JSONTape,
            _ bytes: UnsafeRawBufferPointer
        ) -> [[UInt8]: Int] {
            Dictionary(
                tape.children(of: item).map { (tape.name(of: $0, in: bytes), $0) },
                uniquingKeysWith: { $1 }
            )
        }
    }
}

/// Decoded JSON strings in WTF-8: UTF-8 in which a lone surrogate takes three bytes.
///
/// JSON can escape a lone surrogate and UTF-8 cannot hold one. In WTF-8, two strings are equal if
/// and only if their bytes are. Source: *The WTF-8 encoding*, https://simonsapin.github.io/wtf-8/.
enum JSONText {
    /// Whether some of the text is half a surrogate pair.
    static func hasLoneSurrogate(_ text: [UInt8]) -> Bool {
        text.indices.contains { text[$0] == 0xED && $0 + 1 < text.count && text[$0 + 1] >= 0xA0 }
    }
}
