#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

package enum HostKind: Equatable, Sendable {
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
            let inner = String(Substring(text.dropFirst().dropLast()))
            self = addressBytes(AF_INET6, 16, inner).map { .address($0) } ?? .malformed
        } else if let address = addressBytes(AF_INET, 4, host) {
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
    if last.allSatisfy(\.isASCIIDigit) { return true }
    return last.starts(with: "0x".utf8) && last.dropFirst(2).allSatisfy { $0.hexValue != nil }
}

/// The one spelling of an IPv4 address, or RFC 4291 2.2 without a zone.
private func addressBytes(_ family: Int32, _ count: Int, _ text: String) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    return inet_pton(family, text, &bytes) == 1 ? bytes : nil
}

/// A host with or without a port, as `redirect_hosts` names it.
package struct HostPort: Hashable, Sendable, CustomStringConvertible {
    /// Lower case; an IPv6 address with its brackets.
    package let host: String
    /// Nil stands for the default port of whichever scheme is used.
    package let port: Int?

    package var description: String { port.map { "\(host):\($0)" } ?? host }

    /// Reads `cdn.example.com`, `cdn.example.com:8443` and `[2001:db8::1]:8443`.
    package init(_ text: String) throws(ModelError) {
        let delimiters = Set("/?#@\\".utf8)
        guard !text.utf8.contains(where: delimiters.contains), text.utf8.last != UInt8(ascii: ":"),
            let url = try? WebURL("https://\(text)")
        else { throw .badHost(text) }
        host = url.host
        let namesPort = text.utf8.last != UInt8(ascii: "]") && text.utf8.count > url.host.utf8.count
        port = namesPort ? url.port : nil
    }

    package func covers(_ url: WebURL) -> Bool {
        url.host == host && url.port == (port ?? url.defaultPort)
    }
}

/// Which addresses an origin may not live at unless it allows private ones: whatever is not an
/// ordinary, globally reachable host.
///
/// Source: the IANA special-purpose address registries (RFC 6890). An IPv6 form that carries an
/// IPv4 address is judged by the latter, so that no spelling leads around the rule.
package enum AddressRule {
    /// Judges an address in network byte order: 4 or 16 bytes; any other length is refused.
    package static func refuses(_ address: [UInt8]) -> Bool {
        switch address.count {
        case 4: refusesV4(address)
        case 16: refusesV6(address)
        default: true
        }
    }

    private static func refusesV4(_ address: [UInt8]) -> Bool {
        refusedV4.contains { $0.contains(address) }
    }

    private static func refusesV6(_ address: [UInt8]) -> Bool {
        if refusedV6.contains(where: { $0.contains(address) }) { return true }
        let carrier = carriersOfV4.first { $0.block.contains(address) }
        guard let carrier else { return false }
        return refusesV4(Array(address[carrier.offset..<carrier.offset + 4]))
    }

    private static let refusedV4 = [
        AddressBlock([0], 8),  // this network, 0.0.0.0
        AddressBlock([10], 8),  // private
        AddressBlock([100, 64], 10),  // carrier-grade NAT
        AddressBlock([127], 8),  // loopback
        AddressBlock([169, 254], 16),  // link-local, the clouds' metadata servers
        AddressBlock([172, 16], 12),  // private
        AddressBlock([192, 0, 0], 24),  // protocol assignments
        AddressBlock([192, 0, 2], 24),  // documentation
        AddressBlock([192, 168], 16),  // private
        AddressBlock([198, 18], 15),  // benchmarks
        AddressBlock([198, 51, 100], 24),  // documentation
        AddressBlock([203, 0, 113], 24),  // documentation
        AddressBlock([224], 4),  // multicast
        AddressBlock([240], 4),  // reserved, 255.255.255.255
    ]

    private static let refusedV6 = [
        AddressBlock([0x00, 0x64, 0xFF, 0x9B, 0x00, 0x01], 48),  // local NAT64
        AddressBlock([0x01, 0x00, 0, 0, 0, 0, 0, 0], 64),  // discard
        AddressBlock([0x20, 0x01, 0x00, 0x00], 32),  // Teredo
        AddressBlock([0x20, 0x01, 0x0D, 0xB8], 32),  // documentation
        AddressBlock([0x3F, 0xFF, 0x00], 20),  // documentation
        AddressBlock([0xFC], 7),  // unique local
        AddressBlock([0xFE, 0x80], 10),  // link-local
        AddressBlock([0xFE, 0xC0], 10),  // site-local
        AddressBlock([0xFF], 8),  // multicast
    ]

    /// Where an IPv6 address carries an IPv4 one.
    ///
    /// `::` and `::1` are the first one's 0.0.0.0/8.
    private static let carriersOfV4: [(block: AddressBlock, offset: Int)] = [
        (AddressBlock([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 96), 12),  // IPv4-compatible
        (AddressBlock([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], 96), 12),  // IPv4-mapped
        (AddressBlock([0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0], 96), 12),  // SIIT
        (AddressBlock([0x00, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0], 96), 12),  // NAT64
        (AddressBlock([0x20, 0x02], 16), 2),  // 6to4
    ]
}

/// All addresses whose first `length` bits are those of `prefix`.
private struct AddressBlock {
    let prefix: [UInt8]
    let length: Int

    init(_ prefix: [UInt8], _ length: Int) {
        self.prefix = prefix
        self.length = length
    }

    func contains(_ address: [UInt8]) -> Bool {
        let wholeBytes = length / 8
        guard address.prefix(wholeBytes).elementsEqual(prefix.prefix(wholeBytes)) else {
            return false
        }
        let mask = ~(UInt8.max >> (length % 8))
        guard mask != 0 else { return true }
        return address[wholeBytes] & mask == prefix[wholeBytes] & mask
    }
}
