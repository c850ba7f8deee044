import LarderJSON
import Synchronization

/// The names of the members of the types that were written or read; one encoder or decoder has it at a
/// time.
///
/// A coder that made its names itself spent a third to a half of its time on it (perf: 64 clients that
/// write, `GET /v1/status`).
struct NamesOfTypes: @unchecked Sendable {
    /// By the type of the coding keys.
    private var byKeys: [ObjectIdentifier: MemberNames] = [:]

    // Unchecked: a value is in the list, or one encoder or decoder has it.
    private static let unused = Mutex<[NamesOfTypes]>([])
    private static let unusedMax = 8

    static func taken() -> NamesOfTypes {
        unused.withLock { $0.popLast() } ?? NamesOfTypes()
    }

    mutating func names<Key: CodingKey>(of type: Key.Type) -> MemberNames {
        if let names = byKeys[ObjectIdentifier(type)] { return names }
        let new = MemberNames(of: type)
        byKeys[ObjectIdentifier(type)] = new
        return new
    }

    func giveBack() {
        Self.unused.withLock { if $0.count < Self.unusedMax { $0.append(self) } }
    }
}

/// The names of the members of one type as they travel, by its coding keys.
///
/// A page of 1,000 entries asks for 15,000 names; so a name is made once for each key.
final class MemberNames {
    /// By the one byte of a synthesized key; empty where the key was not asked for.
    @exclusivity(unchecked) private var texts: [String] = []
    /// The same with quotation marks and colon.
    @exclusivity(unchecked) private var encoded: [[UInt8]] = []

    init<Key: CodingKey>(of keys: Key.Type) {
        assert("\(keys)" != "_DictionaryCodingKey", "a dictionary has no order; use NamedValues")
    }

    func text<Key: CodingKey>(_ key: Key) -> String {
        guard let place = place(key) else { return memberName(of: key) }
        return texts[place]
    }

    func encoded<Key: CodingKey>(_ key: Key) -> [UInt8] {
        guard let place = place(key) else { return Self.encode(memberName(of: key)) }
        return encoded[place]
    }

    /// Where the key's name is, which is made if it is not there; nil for a key with a payload.
    private func place<Key: CodingKey>(_ key: Key) -> Int? {
        guard MemoryLayout<Key>.size == 1 else { return nil }
        let place = withUnsafeBytes(of: key) { Int($0[0]) }
        if place < texts.count, !encoded[place].isEmpty { return place }
        if place >= texts.count {
            let more = place + 1 - texts.count
            texts += Array(repeating: "", count: more)
            encoded += Array(repeating: [], count: more)
        }
        texts[place] = memberName(of: key)
        encoded[place] = Self.encode(texts[place])
        return place
    }

    private static func encode(_ name: String) -> [UInt8] {
        var json = JSONWriter()
        json.name(name)
        return json.bytes
    }
}

/// The name of a member as it travels.
func memberName(of key: some CodingKey) -> String {
    key is GivenName ? key.stringValue : snakeCase(key.stringValue)
}

/// The name of a property as the name of its member: `baseURL` becomes `base_url`, `id` stays.
///
/// A word begins at a capital letter after a small one or a digit, and at the last of several
/// capital letters before a small one: `urlTTLText` is `url_ttl_text`. An `s` after an
/// abbreviation belongs to it: `pendingIDs` is `pending_ids`.
package func snakeCase(_ name: String) -> String {
    let letters = Array(name.utf8)
    var text: [UInt8] = []
    for (index, letter) in letters.enumerated() {
        guard letter.isCapital else {
            text.append(letter)
            continue
        }
        let isAfterSmall = index > 0 && !letters[index - 1].isCapital
        let rest = letters[(index + 1)...]
        let isPlural =
            rest.first == UInt8(ascii: "s") && !(rest.dropFirst().first?.isSmall ?? false)
        let isBeforeSmall = rest.first?.isSmall == true && !isPlural
        if index > 0, isAfterSmall || isBeforeSmall { text.append(UInt8(ascii: "_")) }
        text.append(letter | 0x20)
    }
    return String(decoding: text, as: UTF8.self)
}

extension UInt8 {
    fileprivate var isCapital: Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) }
    fileprivate var isSmall: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) }
}
