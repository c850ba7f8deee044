/// Kind of a URL's host.
package enum HostKind: Equatable, Sendable {
    /// A name that is looked up.
    case name
    /// An address in network byte order: 4 or 16 bytes.
    case address([UInt8])
    /// No name, and not the one spelling of an address: `127.1`, `0x7f000001`, `[::1::]`.
    ///
    /// Some resolvers take such a text for an address.
    case malformed

    /// Tells the host of a ``WebURL``.
    package init(_ host: String) {
        let text = host.utf8
        if text.first == UInt8(ascii: "["), text.last == UInt8(ascii: "]") {
            let inner = text.dropFirst().dropLast()
            self = addressV6(inner).map { .address($0) } ?? .malformed
        } else if let address = addressV4(text[...]) {
            self = .address(address)
        } else {
            self = isNumeric(text[...]) ? .malformed : .name
        }
    }

    /// Whether it is an address, or looks like one, that ``AddressRule`` refuses.
    package var isRefusedAddress: Bool {
        switch self {
        case .name: false
        case .address(let bytes): AddressRule.refuses(bytes)
        case .malformed: true
        }
    }
}

/// Whether the last label is a number, as the WHATWG URL Standard tells an IPv4 address.
private func isNumeric(_ host: Substring.UTF8View) -> Bool {
    let labels = host.split(separator: UInt8(ascii: "."))
    guard let last = labels.last else { return true }
    if last.allSatisfy(isDigit) { return true }
    return last.starts(with: "0x".utf8) && last.dropFirst(2).allSatisfy { hexValue($0) != nil }
}

/// Four decimal numbers of 0 to 255 without leading zeros.
private func addressV4(_ text: Substring.UTF8View) -> [UInt8]? {
    let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 4 else { return nil }
    var bytes: [UInt8] = []
    for part in parts {
        guard part.allSatisfy(isDigit), part.count == 1 || part.first != UInt8(ascii: "0"),
            let byte = UInt8(Substring(part))
        else { return nil }
        bytes.append(byte)
    }
    return bytes
}

/// RFC 4291 2.2, without a zone.
private func addressV6(_ text: Substring.UTF8View) -> [UInt8]? {
    guard let gap = doubleColon(in: text) else {
        let bytes = groups(text)
        return bytes?.count == 16 ? bytes : nil
    }
    let after = text[text.index(gap, offsetBy: 2)...]
    guard let head = groups(text[..<gap]), let tail = groups(after),
        head.count + tail.count <= 14
    else { return nil }
    return head + [UInt8](repeating: 0, count: 16 - head.count - tail.count) + tail
}

private func doubleColon(in text: Substring.UTF8View) -> Substring.UTF8View.Index? {
    let colon = UInt8(ascii: ":")
    return text.indices.first { index in
        let next = text.index(after: index)
        return text[index] == colon && next < text.endIndex && text[next] == colon
    }
}

/// Groups of up to four hexadecimal digits, of which the last may be an IPv4 address.
private func groups(_ text: Substring.UTF8View) -> [UInt8]? {
    guard !text.isEmpty else { return [] }
    let parts = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    guard parts.count <= 8 else { return nil }
    var bytes: [UInt8] = []
    for (index, part) in parts.enumerated() {
        if index == parts.count - 1, let address = addressV4(part) {
            bytes += address
            continue
        }
        guard (1...4).contains(part.count), part.allSatisfy({ hexValue($0) != nil }) else {
            return nil
        }
        let value = part.reduce(UInt16(0)) { $0 << 4 | UInt16(hexValue($1) ?? 0) }
        bytes += [UInt8(value >> 8), UInt8(value & 0xFF)]
    }
    return bytes
}

private func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
}

private func hexValue(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
}
