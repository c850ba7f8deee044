import LarderJSON

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
