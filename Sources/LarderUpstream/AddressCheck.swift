import Glibc
import LarderModel
import NIOCore

/// Closes a new connection whose peer the origin may not live at, before a request byte leaves.
///
/// The peer that is connected is judged, not what the name resolved to, so that a name that
/// changes its address between the two (DNS rebinding) gains nothing.
struct AddressCheck {
    /// What the connection's creation fails with.
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
        let bytes = channel.remoteAddress?.ipBytes ?? []
        guard AddressRule.refuses(bytes) else { return channel.eventLoop.makeSucceededVoidFuture() }
        channel.eventLoop.execute { channel.close(promise: nil) }
        let address = channel.remoteAddress?.ipAddress ?? "unknown"
        return channel.eventLoop.makeFailedFuture(Refusal(address: address))
    }
}

extension SocketAddress {
    /// The address in network byte order; nil for what is neither IPv4 nor IPv6.
    fileprivate var ipBytes: [UInt8]? {
        guard let text = ipAddress else { return nil }
        let isV4 = self.protocol == .inet
        var bytes = [UInt8](repeating: 0, count: isV4 ? 4 : 16)
        return inet_pton(isV4 ? AF_INET : AF_INET6, text, &bytes) == 1 ? bytes : nil
    }
}
