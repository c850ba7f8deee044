import Glibc
import LarderModel
import NIOCore

/// Closes a new connection before a request byte leaves, if the origin does not allow the peer.
///
/// So a name gains nothing if it leads elsewhere than when ``NameCheck`` judged it (DNS rebinding).
struct AddressCheck {
    /// The error with which the connection fails.
    struct Refusal: Error {
        /// The address as text, or `unknown`.
        let address: String
    }

    /// Fails if the peer is refused.
    ///
    /// The channel closes only after the pool has heard of the failure. The pool's state machine
    /// does not expect a connection to close while it starts, and the pool does not close it.
    @Sendable
    static func run(on channel: any Channel) -> EventLoopFuture<Void> {
        guard channel.remoteAddress?.isRefused ?? true else {
            return channel.eventLoop.makeSucceededVoidFuture()
        }
        channel.eventLoop.execute { channel.close(promise: nil) }
        let address = channel.remoteAddress?.ipAddress ?? "unknown"
        return channel.eventLoop.makeFailedFuture(Refusal(address: address))
    }
}

extension SocketAddress {
    /// Whether ``AddressRule`` refuses the address; an address other than IPv4 or IPv6 is refused.
    var isRefused: Bool {
        guard let text = ipAddress else { return AddressRule.refuses([]) }
        let isV4 = self.protocol == .inet
        // In network byte order.
        var bytes = [UInt8](repeating: 0, count: isV4 ? 4 : 16)
        let isRead = inet_pton(isV4 ? AF_INET : AF_INET6, text, &bytes) == 1
        return AddressRule.refuses(isRead ? bytes : [])
    }
}
