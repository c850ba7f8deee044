import ArgumentParser
import LarderClient

/// Which modifier a command is about.
struct OneModifier: ParsableArguments {
    @Argument(help: "Its id, as `cachectl queue list` has it.")
    var id: String

    @Option(help: ArgumentHelp("That of another user; for administrators.", valueName: "n"))
    var uid: UInt32?

    func scope(_ options: GlobalOptions) -> EntryScope { options.scope(ofUser: uid) }
}
