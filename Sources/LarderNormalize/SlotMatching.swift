import LarderModel

/// Finds for each reference in a value the slot of its entity at that position.
struct SlotMatching {
    private let template: Template
    private let range: Range<Int>
    private var next: Int
    /// The slots by key, once their order is not that of the references.
    private var slots: [EntityKey: Int]?

    init(_ range: Range<Int>, _ template: Template) {
        self.range = range
        self.template = template
        next = range.lowerBound
    }

    /// The slot for the reference whose key has these bytes; nil if the template has none here.
    mutating func slot(of key: Range<Int>, in bytes: [UInt8]) -> Int? {
        guard !range.isEmpty else { return nil }
        if next < range.upperBound, isKey(of: next, key, in: bytes) {
            defer { next = template.slots[next].next }
            return next
        }
        if slots == nil {
            var table: [EntityKey: Int] = [:]
            var slot = range.lowerBound
            while slot < range.upperBound {
                let key = template.keys[template.slots[slot].key]
                if table[key] == nil { table[key] = slot }
                slot = template.slots[slot].next
            }
            slots = table
        }
        let text = String(decoding: bytes[key], as: UTF8.self)
        guard let slot = slots?[EntityKey(unchecked: text)] else { return nil }
        next = template.slots[slot].next
        return slot
    }

    private func isKey(of slot: Int, _ key: Range<Int>, in bytes: [UInt8]) -> Bool {
        var text = template.keys[template.slots[slot].key].text
        return text.withUTF8 { text in
            bytes.withUnsafeBytes { $0.hasBytes(key, UnsafeRawBufferPointer(text)) }
        }
    }
}
