import ArgumentParser
import LarderClient

/// Which lane a command is about, and whose.
struct LaneChoice: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "name:NAME, or id:ID, key:ORIGIN/KEY or key:KEY of what its writes change; name: and "
                + "id: may be left out.",
            valueName: "lane"
        ),
        transform: LaneArgument.init
    )
    var lane: LaneArgument

    @Option(help: ArgumentHelp("That of another user; for administrators.", valueName: "n"))
    var uid: UInt32?

    func scope(_ options: GlobalOptions) -> EntryScope { options.scope(ofUser: uid) }
}
