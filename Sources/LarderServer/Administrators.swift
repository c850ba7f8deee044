/// Who may look into others' rows and change how the daemon works: root, the daemon's own user, and
/// the members of a group.
///
/// The group is not the socket's: who may ask may not therefore administer.
package struct Administrators: Sendable, Equatable {
    private let uids: Set<UInt32>
    private let group: Group

    /// The group that the configuration names.
    package struct Group: Sendable, Equatable {
        package let name: String
        /// Nil where no group has the name, so that nobody is in it.
        package let number: UInt32?

        package init(name: String, number: UInt32?) {
            self.name = name
            self.number = number
        }
    }

    /// For a daemon that runs as `daemonUID`.
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
        groups: () throws(ServerError) -> PeerGroups
    ) throws(ServerError) -> Bool {
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
