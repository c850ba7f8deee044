import Glibc
import NIOCore

/// The groups of whoever is at the other end of a connection, by the kernel's word at the moment of
/// connecting (SO_PEERCRED and SO_PEERGROUPS, unix(7) and socket(7)).
///
/// They are asked for when something hangs on them, so that an ordinary request costs nothing; the
/// kernel keeps what it noted when the client connected, and answers the same at any time.
struct PeerGroups: Sendable, Equatable {
    /// The supplementary groups, and the group that the client ran as.
    let all: Set<UInt32>

    init(all: Set<UInt32>) {
        self.all = all
    }

    /// Asks the kernel; called on the channel's event loop.
    init(of peer: Peer, on channel: any Channel) throws(ServerError) {
        let supplementary: [UInt32]?
        do {
            supplementary = try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
                of: NIOBSDSocket.Handle.self
            ) { try Self.supplementary(ofPeerAt: $0) }
        } catch {
            throw .unknownPeer
        }
        guard let supplementary else { throw .unknownPeer }
        all = Set(supplementary).union([peer.gid])
    }

    /// The supplementary groups of the process at the other end of a socket.
    static func supplementary(ofPeerAt descriptor: Int32) throws(ServerError) -> [UInt32] {
        // Few users are in more; the kernel says how many there are where they are too many.
        var count = 32
        while true {
            var groups = [UInt32](repeating: 0, count: count)
            var length = socklen_t(count * MemoryLayout<UInt32>.stride)
            let result = getsockopt(descriptor, SOL_SOCKET, SO_PEERGROUPS, &groups, &length)
            let given = Int(length) / MemoryLayout<UInt32>.stride
            if result == 0 { return Array(groups.prefix(given)) }
            guard errno == ERANGE, given > count else { throw .unknownPeer }
            count = given
        }
    }
}
