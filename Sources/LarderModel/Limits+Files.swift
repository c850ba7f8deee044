/// Bounds that follow from how many files the process may have open (RLIMIT_NOFILE).
extension Limits {
    /// Files that are no client's connection, at least: databases, their readers, origins.
    package static let ownFilesMin = 64

    /// Clients' connections where so many files may be open: a quarter of them is left for origins
    /// and the daemon's own.
    package static func connectionsMax(files: Int) -> Int {
        min(connectionsMax, max(1, files - max(ownFilesMin, files / 4)))
    }

    /// Connections of one user among them, so that others are served too.
    package static func connectionsPerUserMax(files: Int) -> Int {
        min(connectionsPerUserMax, max(1, connectionsMax(files: files) * 3 / 4))
    }

    /// Connections that are refused in one turn while no file can be opened.
    package static let refusedConnectionsMax = 256
    /// Pause after which clients are taken again, if not even a refusal could be sent.
    package static let acceptPause = Duration.milliseconds(100)
    /// Time between two lines of the log that say so.
    package static let shortageNoticeTime = Duration.seconds(60)
    /// Time between two looks whether the socket's file is still there.
    package static let socketCheckTime = Duration.seconds(5)
}
