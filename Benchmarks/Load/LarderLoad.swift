import ArgumentParser

/// The loads of `scripts/bench` and `scripts/soak`.
@main
struct LarderLoad: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "larder-load",
        abstract: "Asks a server on a Unix socket, or has many watch it while much changes.",
        subcommands: [Load.self, Crowd.self],
        defaultSubcommand: Load.self
    )
}
