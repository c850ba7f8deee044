import ArgumentParser
import LarderClient

/// Which lane a command is about, and whose.
struct LaneChoice: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "name:NAME, or id:ID or key:ORIGIN/KEY of what its writes change; name: and id: may "
                + "be left out.",
            valueName: "lane"
        ),
        transform: laneArgument
    )
    var lane: Modifier.Lane

    @Option(help: ArgumentHelp("That of another user; for administrators.", valueName: "n"))
    var uid: UInt32?

    func scope(_ options: GlobalOptions) -> EntryScope { options.scope(ofUser: uid) }
}

/// Reads `name:cart`, `id:notes/1`, `key:example/User:7`; without either, what has `://` is an id and all else a name.
func laneArgument(_ text: String) -> Modifier.Lane {
    if text.hasPrefix("name:") { return .name(String(text.dropFirst(5))) }
    if text.hasPrefix("id:") { return .target(String(text.dropFirst(3))) }
    if text.hasPrefix("key:"), let slash = text.firstIndex(of: "/") {
        let origin = text[..<slash].dropFirst(4)
        let key = text[slash...].dropFirst()
        return .entity(EntityID(key: String(key), origin: String(origin)))
    }
    return text.contains("://") ? .target(text) : .name(text)
}

extension Modifier.Lane {
    /// As the API spells it.
    var text: String {
        switch self {
        case .target(let id): "id:\(EntryArgument(id).rowID)"
        case .entity(let entity): "key:\(entity.origin)/\(entity.key)"
        case .name(let name): "name:\(name)"
        }
    }
}
