import LarderJSON
import LarderModel

/// Merges lists of an entity that grow with each answer because of a rule.
///
/// All other parts of the value are as the answer sent them. That includes a list that only one of
/// the two values has.
struct ListMerge {
    let held: PlaceholderJSON
    let came: PlaceholderJSON
    /// That of the answer that came, nil for what is no page.
    var query: Substring?
    /// A list that would get more elements is as it came.
    var elementsMax = Limits.mergedElementsMax
    /// All is as it came where the value would have more bytes.
    var bytesMax = Limits.entityBytesMax

    /// A list of the value that came, and what it becomes.
    private struct Change {
        let range: Range<Int>
        let builder: (inout CutBuilder) -> Void
    }

    /// The value that came, in which the lists of the rules are united with those that were held;
    /// nil where no list is.
    func merged(by rules: [EntityRules.OfList]) -> CutBuilder? {
        var changes = rules.compactMap(change)
        guard !changes.isEmpty else { return nil }
        changes.sort { $0.range.lowerBound < $1.range.lowerBound }
        var result = CutBuilder()
        var start = 0
        for change in changes {
            came.append(start..<change.range.lowerBound, to: &result)
            change.builder(&result)
            start = change.range.upperBound
        }
        came.append(start..<came.bytes.count, to: &result)
        result.finish()
        return result.bytes.count <= bytesMax ? result : nil
    }

    private func change(by rule: EntityRules.OfList) -> Change? {
        guard let old = Self.list(at: rule.path, in: held),
            let new = Self.list(at: rule.path, in: came)
        else { return nil }
        let union: [Element]?
        switch rule.rule {
        case .append: union = appended(old, new)
        case .pages(let name):
            union = isFirstPage(by: name) ? begun(old, new) : appended(old, new)
        case .by(let name): union = united(old, new, by: name)
        }
        guard let union, union.count <= elementsMax else { return nil }
        let (held, came) = (held, came)
        return Change(range: came.tape.items[new].range) { builder in
            builder.text([UInt8(ascii: "[")])
            for (index, element) in union.enumerated() {
                if index > 0 { builder.text([UInt8(ascii: ",")]) }
                (element.isHeld ? held : came).append(element.item, to: &builder)
            }
            builder.text([UInt8(ascii: "]")])
        }
    }

    private struct Element {
        let item: Int
        let isHeld: Bool
    }

    /// The item of the list to which the names lead.
    private static func list(at path: [[UInt8]], in text: PlaceholderJSON) -> Int? {
        var item = 0
        for name in path {
            guard text.tape[item].kind == .beginObject,
                let member = text.bytes.withUnsafeBytes({ text.tape.member(name, of: item, in: $0) }
                )
            else { return nil }
            item = member
        }
        return text.tape[item].kind == .beginArray ? item : nil
    }

    /// The union by key; nil if an element is not an entity.
    private func appended(_ old: Int, _ new: Int) -> [Element]? {
        var union: [Element] = []
        var known: Set<[UInt8]> = []
        for (text, list, isHeld) in [(held, old, true), (came, new, false)] {
            for item in text.tape.children(of: list) {
                guard let key = text.key(at: item) else { return nil }
                if known.insert(key).inserted {
                    union.append(Element(item: item, isHeld: isHeld))
                }
            }
        }
        return union
    }

    private func isFirstPage(by name: String) -> Bool {
        guard let query else { return false }
        let values = query.split(separator: "&").compactMap { field -> Substring? in
            let parts = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return parts[0] == name ? parts.dropFirst().first ?? "" : nil
        }
        return values.allSatisfy { ["", "0", "1"].contains($0) }
    }

    /// The held list where it begins with the page that came; else nil, so that it starts again.
    private func begun(_ old: Int, _ new: Int) -> [Element]? {
        let items = Array(held.tape.children(of: old))
        var place = 0
        for item in came.tape.children(of: new) {
            guard place < items.count, let key = came.key(at: item),
                held.key(at: items[place]) == key
            else { return nil }
            place += 1
        }
        guard place > 0 else { return nil }
        return items.map { Element(item: $0, isHeld: true) }
    }

    /// The union by one member's value; nil if an element has no such member.
    private func united(_ old: Int, _ new: Int, by name: [UInt8]) -> [Element]? {
        var union: [Element] = []
        var places: [Identity: Int] = [:]
        for (text, list, isHeld) in [(held, old, true), (came, new, false)] {
            for item in text.tape.children(of: list) {
                guard let identity = Self.identity(of: item, by: name, in: text) else {
                    return nil
                }
                if let place = places[identity] {
                    union[place] = Element(item: item, isHeld: isHeld)
                } else {
                    places[identity] = union.count
                    union.append(Element(item: item, isHeld: isHeld))
                }
            }
        }
        return union
    }

    /// Identity of an element: its key, or the value of the rule's member.
    private enum Identity: Hashable {
        case key([UInt8])
        case text([UInt8])
        case number(JSONIdentity)
    }

    private static func identity(
        of item: Int,
        by name: [UInt8],
        in text: PlaceholderJSON
    ) -> Identity? {
        if let key = text.key(at: item) { return .key(key) }
        guard text.tape[item].kind == .beginObject else { return nil }
        return text.bytes.withUnsafeBytes { bytes in
            guard let member = text.tape.member(name, of: item, in: bytes) else { return nil }
            switch text.tape[member].kind {
            case .string: return .text(text.tape.text(of: member, in: bytes))
            case .number:
                let number = try? JSONValue(parsing: bytes.part(text.tape[member].range))
                return number.map { .number(JSONIdentity($0)) }
            case .true, .false, .null, .name, .beginArray, .endArray, .beginObject, .endObject:
                return nil
            }
        }
    }
}

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
            for slot in template.slots.siblings(in: range) {
                let key = template.keys[template.slots[slot].key]
                if table[key] == nil { table[key] = slot }
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
