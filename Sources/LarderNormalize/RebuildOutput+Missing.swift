import LarderJSON
import LarderModel

extension RebuildOutput {
    /// Where something is missing, in document order.
    ///
    /// The answer is read for that, which it is not while nothing is missing.
    var missingPointers: [JSONPointer] {
        guard !missing.isEmpty else { return [] }
        var names: [Int: [[UInt8]?]] = [:]
        for (offset, name) in missing { names[offset, default: []].append(name) }
        return bytes.withUnsafeBytes { buffer in
            guard let tape = try? JSONTape(buffer, valuesMax: .max) else { return [.whole] }
            var search = Search(tape: tape, bytes: buffer, names: names)
            search.visit(0)
            return search.pointers
        }
    }

    private struct Search {
        let tape: JSONTape
        let bytes: UnsafeRawBufferPointer
        let names: [Int: [[UInt8]?]]
        var tokens: [String] = []
        var pointers: [JSONPointer] = []

        mutating func visit(_ item: Int) {
            let value = tape.items[item]
            for name in names[Int(value.start)] ?? [] {
                let last = name.map { [String(decoding: $0, as: UTF8.self)] } ?? []
                pointers.append(JSONPointer(tokens: tokens + last))
            }
            guard value.isContainer else { return }
            for (position, child) in tape.children(of: item).enumerated() {
                let isMember = tape.items[child].nameEnd > 0
                tokens.append(
                    isMember
                        ? String(decoding: tape.name(of: child, in: bytes), as: UTF8.self)
                        : String(position)
                )
                visit(child)
                tokens.removeLast()
            }
        }
    }
}
