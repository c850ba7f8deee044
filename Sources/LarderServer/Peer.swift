import Glibc
import LarderAPI
import LarderModel
import NIOCore

/// The process at the other end of a connection, from the kernel (SO_PEERCRED, unix(7)).
struct Peer: Sendable, Equatable {
    let pid: Int32
    let uid: UInt32
    let gid: UInt32

    /// The rows that it may see under an account's name.
    func scope(_ account: AccountName) -> Scope {
        .own(uid: uid, account: account)
    }

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

/// Groups that the process at the other end of a connection had when it connected.
///
/// The kernel reports them (SO_PEERCRED and SO_PEERGROUPS, unix(7) and socket(7)). The server asks
/// for them only when a decision depends on them, so that an ordinary request costs nothing. The
/// kernel's record does not change, so the server can ask at any time.
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

/// Users who may see others' rows and change how the daemon works.
///
/// They are root, the daemon's own user, and the members of a group. The group is not the socket's:
/// access to the socket does not include administration.
package struct Administrators: Sendable, Equatable {
    private let uids: Set<UInt32>
    private let group: Group

    package struct Group: Sendable, Equatable {
        package let name: String
        /// Nil where no group has the name: then the group has no members.
        package let number: UInt32?

        package init(name: String, number: UInt32?) {
            self.name = name
            self.number = number
        }
    }

    package init(daemonUID: UInt32, group: Group) {
        self.init(uids: [0, daemonUID], group: group)
    }

    private init(uids: Set<UInt32>, group: Group) {
        self.uids = uids
        self.group = group
    }

    /// The members of a group only, not even root: for tests, which may run as root.
    package static func members(of group: Group) -> Administrators {
        Administrators(uids: [], group: group)
    }

    /// Whether a client is one of them.
    ///
    /// `groups` is asked only where the uid does not decide.
    func include(
        _ peer: Peer,
        groups: () throws(Problem) -> PeerGroups
    ) throws(Problem) -> Bool {
        if uids.contains(peer.uid) { return true }
        guard let number = group.number else { return false }
        return try groups().all.contains(number)
    }

    /// How to become one of them.
    var hint: String {
        guard group.number != nil else {
            return
                "Ask as root or as the daemon's own user; a group '\(group.name)' does not exist."
        }
        return "Ask as root or as the daemon's own user, or join its group: "
            + "sudo usermod -aG \(group.name) \"$USER\", then log in again."
    }
}
