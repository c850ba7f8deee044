import Glibc
import LarderModel
import NIOCore

/// Closes a new connection whose peer the origin may not live at, before a request byte leaves.
///
/// A name that leads elsewhere than it did when ``NameCheck`` judged it (DNS rebinding) gains
/// nothing by it.
struct AddressCheck {
    /// The error with which the connection fails.
    struct Refusal: Error {
        /// The address as text, or `unknown`.
        let address: String
    }

    /// Fails where the peer is refused.
    ///
    /// The channel is closed only after the pool has heard of
    /// the failure: its state machine does not expect a connection to close while it starts, and
    /// it does not close it itself.
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
    /// Whether ``AddressRule`` refuses it, as it does what is neither IPv4 nor IPv6.
    var isRefused: Bool {
        guard let text = ipAddress else { return AddressRule.refuses([]) }
        let isV4 = self.protocol == .inet
        // In network byte order.
        var bytes = [UInt8](repeating: 0, count: isV4 ? 4 : 16)
        let isRead = inet_pton(isV4 ? AF_INET : AF_INET6, text, &bytes) == 1
        return AddressRule.refuses(isRead ? bytes : [])
    }
}
