import LarderModel

/// Makes a value with references out of text and keys; see ``EntityBody`` for its form.
struct CutBuilder {
    private(set) var bytes: [UInt8] = []
    private var pending: [UInt8] = []
    private(set) var hasReferences = false

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        pending.removeAll(keepingCapacity: true)
        hasReferences = false
    }

    mutating func text(_ text: UnsafeRawBufferPointer) {
        pending.append(contentsOf: text)
    }

    mutating func text(_ text: [UInt8]) {
        pending += text
    }

    mutating func reference(_ key: EntityKey) {
        var text = key.text
        text.withUTF8 { reference(UnsafeRawBufferPointer($0)) }
    }

    mutating func reference(_ key: UnsafeRawBufferPointer) {
        flush()
        bytes.append(number: key.count)
        bytes.append(contentsOf: key)
        hasReferences = true
    }

    /// Ends the value; without a reference its bytes are the text.
    mutating func finish() {
        if hasReferences {
            flush()
        } else {
            swap(&bytes, &pending)
        }
    }

    private mutating func flush() {
        bytes.append(number: pending.count)
        bytes += pending
        pending.removeAll(keepingCapacity: true)
    }
}
