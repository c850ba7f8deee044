import Glibc
import LarderClient
import LarderConfiguration

/// Access rights of a daemon's socket, and advice for users without access.
struct SocketRights {
    static let systemSocket = "/run/larder/api.sock"

    let path: String
    let isSocket: Bool
    let mode: Int
    let uid: uid_t
    let gid: gid_t

    /// Nil where there is nothing at the path.
    init?(of path: String) {
        var answer = stat()
        guard stat(path, &answer) == 0 else { return nil }
        self.path = path
        isSocket = answer.st_mode & S_IFMT == S_IFSOCK
        mode = Int(answer.st_mode & 0o777)
        (uid, gid) = (answer.st_uid, answer.st_gid)
    }

    var isPrivate: Bool { mode & 0o077 == 0 }

    /// As chmod(1) spells it: `0660`.
    var modeText: String { "0" + String(mode, radix: 8) }

    /// The group's name, or its number.
    var group: String { AccountLookup.groupName(gid) ?? String(gid) }

    /// Advice for a user without access: a private daemon has no group that the user could join.
    var advice: String {
        guard path == Self.systemSocket else {
            return
                "The daemon belongs to uid \(uid). Start one for yourself: larderd &    or ask the "
                + "system's: cachectl --system"
        }
        guard mode & 0o020 != 0 else {
            return
                "The socket has mode \(modeText), which admits no group. Give it sockets.mode: "
                + "\"0660\", or in larder.socket SocketMode=0660."
        }
        guard gid != 0 else {
            return "The socket has the group root. Give it one for its clients: "
                + "SocketGroup=larder-clients in larder.socket."
        }
        // adduser(8) takes a group by its name only.
        let command = Int(group) == nil ? "adduser NAME \(group)" : "usermod -aG \(group) NAME"
        return "Use the system's daemon: sudo \(command)    (log in again)"
    }
}

/// Commands that show why a daemon does not answer, and that start it: of the service that its
/// socket belongs to.
///
/// `sockets` are those that were tried.
func serviceAdvice(sockets: [String]) -> String {
    let system = SocketLocation.system.candidates
    // Where systemd runs the user's services there is a runtime directory.
    let user = SocketLocation.user.candidates.prefix(1).filter { !system.contains($0) }
    let usesUser = sockets.contains(where: user.contains)
    let usesSystem = sockets.contains(where: system.contains)
    return switch (usesUser, usesSystem) {
    case (true, true):
        "\(WayToBegin.system)\n\(WayToBegin.own)\n"
            + "See why none answers: systemctl status larder    systemctl --user status larder"
    case (true, false):
        "See why: systemctl --user status larder    journalctl --user -u larder    Start "
            + "it: systemctl --user enable --now larder.socket    or: larderd &"
    case (false, true):
        "See why: systemctl status larder    journalctl -u larder    Start it: sudo "
            + "systemctl start larder" + (user.isEmpty ? "" : "\n\(WayToBegin.own)")
    case (false, false):
        "Start it with: larderd &    or the system's: sudo systemctl start larder"
    }
}
