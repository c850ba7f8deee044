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
    fileprivate var standsInHost: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~!$&'()*+,;=:%[]".utf8.contains(self)
        }
    }
}
