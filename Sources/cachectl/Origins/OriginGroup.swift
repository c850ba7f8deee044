import ArgumentParser

/// `cachectl origin`.
struct OriginGroup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "origin",
        abstract: "Shows and changes the servers that the daemon may ask.",
        discussion: """
            Everybody may list them; the rest is for administrators of the daemon.

            Example: cachectl origin add api https://api.example.com
            """,
        subcommands: [
            OriginList.self, OriginAdd.self, OriginRm.self, OriginCheckUp.self,
            OriginOffline.self, OriginOnline.self,
        ]
    )
}
