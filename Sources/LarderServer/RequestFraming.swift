import LarderModel
import NIOHTTP1

/// What a head's fields say of where its request ends and of what may follow, found in one pass: a
/// look for each name by itself is a pass, too, and every hit would pay for all of them.
struct RequestFraming {
    /// Whether what the client sends behind the request may be no HTTP.
    private(set) var asksForAnotherProtocol: Bool
    /// Whether it has a Content-Length.
    private(set) var hasLength = false
    /// Whether it has a Transfer-Encoding.
    private(set) var isCoded = false
    private(set) var hostCount = 0
    /// Whether each Host is one.
    private(set) var areHostsSound = true

    init(_ head: HTTPRequestHead) {
        asksForAnotherProtocol = head.method == .CONNECT
        for (name, value) in head.headers {
            switch name.utf8.count {
            case 4 where name.isEqual(to: "Host"):
                hostCount += 1
                areHostsSound = areHostsSound && value.isHost
            case 7 where name.isEqual(to: "Upgrade"): asksForAnotherProtocol = true
            case 14 where name.isEqual(to: "Content-Length"): hasLength = true
            case 17 where name.isEqual(to: "Transfer-Encoding"): isCoded = true
            default: break
            }
        }
    }

    /// Whether nothing can follow the head but the next request.
    var hasNoBody: Bool { !hasLength && !isCoded }
}

extension String {
    /// The parser leaves the space around a header's value (RFC 9110 5.6.3) where it is.
    fileprivate var isHost: Bool {
        utf8.allSatisfy(\.standsInHost)
            || utf8.drop(while: \.isSpace).reversed().drop(while: \.isSpace)
                .allSatisfy(\.standsInHost)
    }
}

extension UInt8 {
    fileprivate var isSpace: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }

    /// Whether it may stand in a host with its port (RFC 3986 3.2.2).
    var standsInHost: Bool { ASCIISet.host.contains(self) }

    /// Whether it may stand in a path with its query (RFC 3986 3.3, 3.4).
    var standsInTarget: Bool { ASCIISet.target.contains(self) }
}

/// Some characters of ASCII, a bit for each.
private struct ASCIISet {
    private var bits: (UInt64, UInt64) = (0, 0)

    /// Letters, digits, and these.
    private init(and others: StaticString) {
        for byte in UInt8.min..<128 {
            let isAmong = UnsafeBufferPointer(
                start: others.utf8Start,
                count: others.utf8CodeUnitCount
            ).contains(byte)
            guard
                isAmong || Character(UnicodeScalar(byte)).isLetter
                    || Character(UnicodeScalar(byte)).isNumber
            else { continue }
            if byte < 64 { bits.0 |= 1 << UInt64(byte) } else { bits.1 |= 1 << UInt64(byte - 64) }
        }
    }

    static let host = ASCIISet(and: "-._~!$&'()*+,;=:%[]")
    static let target = ASCIISet(and: "-._~!$&'()*+,;=:%@/?")

    func contains(_ byte: UInt8) -> Bool {
        guard byte < 128 else { return false }
        return (byte < 64 ? bits.0 : bits.1) >> UInt64(byte % 64) & 1 == 1
    }
}
