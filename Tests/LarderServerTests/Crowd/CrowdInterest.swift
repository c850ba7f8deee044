import LarderAPI
import LarderModel

/// What one of the crowd watches; of ids and prefixes none is everything.
struct CrowdInterest: Sendable {
    var ids: [EntryID] = []
    var prefixes: [String] = []
    /// None is all.
    var kinds: [WatchKind] = []

    /// Told when all is done.
    static let last = "last"

    func command(since: Revision?) -> WatchCommand {
        var command = WatchCommand()
        command.since = since?.number
        command.ids = ids.map(\.description) + (isEverything ? [] : [Self.last])
        command.prefixes = prefixes
        command.options.types = kinds.isEmpty ? nil : kinds.map { .init(rawValue: $0.rawValue) }
        return command
    }

    var isEverything: Bool { ids.isEmpty && prefixes.isEmpty }

    /// The ids of a history that it covers.
    func covered(in history: CrowdHistory) -> Set<EntryID> {
        guard !isEverything else { return Set(history.events.keys) }
        var covered = Set(ids)
        for id in history.events.keys
        where id.text == Self.last || prefixes.contains(where: { id.text.hasPrefix($0) }) {
            covered.insert(id)
        }
        return covered
    }
}
