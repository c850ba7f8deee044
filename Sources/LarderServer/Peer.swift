import Glibc
import LarderModel
import NIOCore

/// Who is at the other end of a connection, by the kernel's word (SO_PEERCRED, unix(7)).
struct Peer: Sendable, Equatable {
    let pid: Int32
    let uid: UInt32
    let gid: UInt32

    /// The rows that it may see under an account's name.
    func scope(_ account: AccountName) -> Scope {
        .own(uid: uid, account: account)
    }

    /// Asks the kernel who connected.
    static func of(_ channel: any Channel) -> EventLoopFuture<Peer> {
        guard let options = channel as? any SocketOptionProvider else {
            return channel.eventLoop.makeFailedFuture(ServerError.unknownPeer)
        }
        let credentials: EventLoopFuture<Credentials> = options.unsafeGetSocketOption(
            level: NIOBSDSocket.OptionLevel(rawValue: SOL_SOCKET),
            name: NIOBSDSocket.Option(rawValue: SO_PEERCRED)
        )
        return credentials.map { Peer(pid: $0.pid, uid: $0.uid, gid: $0.gid) }
    }

    /// `struct ucred`, which the C library's Swift module lacks.
    private struct Credentials: Sendable {
        var pid: Int32 = 0
        var uid: UInt32 = 0
        var gid: UInt32 = 0
    }
}
