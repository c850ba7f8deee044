import LarderClient

/// Commands that show why a daemon does not answer, and that start it: of the service that its
/// socket belongs to.
struct ServiceAdvice {
    let text: String

    /// - Parameter sockets: Those that were tried.
    init(sockets: [String]) {
        let system = SocketLocation.system.candidates
        // Where systemd runs the user's services there is a runtime directory.
        let user = SocketLocation.user.candidates.prefix(1).filter { !system.contains($0) }
        let usesUser = sockets.contains(where: user.contains)
        let usesSystem = sockets.contains(where: system.contains)
        text =
            switch (usesUser, usesSystem) {
            case (true, true):
                "See why: systemctl --user status larder    or of the system's: systemctl status "
                    + "larder    Start one: larderd &    or: sudo systemctl start larder"
            case (true, false):
                "See why: systemctl --user status larder    journalctl --user -u larder    Start "
                    + "it: systemctl --user start larder    or: larderd &"
            case (false, true):
                "See why: systemctl status larder    journalctl -u larder    Start it: sudo "
                    + "systemctl start larder"
            case (false, false):
                "Start it with: larderd &    or the system's: sudo systemctl start larder"
            }
    }
}
