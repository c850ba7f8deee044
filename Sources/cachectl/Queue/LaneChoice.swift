import ArgumentParser
import LarderClient
import LarderModel

/// Which lane a command is about, and whose.
struct LaneChoice: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "name:NAME, or id:ID of what its writes change; name: and id: may be left out.",
            valueName: "lane"
        ),
        transform: laneArgument
    )
    var lane: String

    @Option(help: ArgumentHelp("That of another user; for administrators.", valueName: "n"))
    var uid: UInt32?

    func scope(_ options: GlobalOptions) -> EntryScope { options.scope(ofUser: uid) }
}

/// Reads `name:cart` and `id:notes/1`; without either, what is a URL or an entity's id is an id and
/// all else a name.
func laneArgument(_ text: String) -> String {
    if text.hasPrefix("name:") || text.hasPrefix("id:") { return text }
    let isID = text.contains("://") || text.hasPrefix(EntryID.entityScheme)
    return (isID ? "id:" : "name:") + text
}
