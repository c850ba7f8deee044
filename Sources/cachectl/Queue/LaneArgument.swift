import LarderAPI
import LarderClient

/// A lane as somebody names it, an entity's perhaps without its origin.
enum LaneArgument: Sendable {
    case lane(String)
    case entity(String, origin: String?)

    /// Reads `name:cart`, `id:notes/1`, `key:example/User:7`, `key:User:7`; without any of them,
    /// what has `://` is an id and all else a name.
    init(_ text: String) {
        if text.hasPrefix("name:") {
            self = .lane(text)
        } else if text.hasPrefix("id:") {
            self = .lane("id:\(EntryArgument(String(text.dropFirst(3))).rowID)")
        } else if text.hasPrefix("key:") {
            // In a key a slash is percent-encoded.
            let parts = text.dropFirst(4).split(
                separator: "/",
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            let origin = parts.count > 1 ? String(parts[0]) : nil
            self = .entity(String(parts[parts.count - 1]), origin: origin)
        } else {
            let isURL = text.contains("://")
            self = .lane(isURL ? "id:\(EntryArgument(text).rowID)" : "name:\(text)")
        }
    }

    /// The lane, of the only origin that has rules where none is named.
    func lane(_ client: LarderClient) async throws -> String {
        switch self {
        case .lane(let lane): lane
        case .entity(let key, let origin?): "key:\(origin)/\(key)"
        case .entity(let key, nil): "key:\(try await only(client))/\(key)"
        }
    }

    private func only(_ client: LarderClient) async throws -> String {
        let names = try await client.origins().filter { $0.settings.normalize != nil }.map(\.name)
        guard let only = names.first, names.count == 1 else {
            let list = names.joined(separator: ", ")
            throw CommandFailure(
                .usage,
                names.isEmpty
                    ? "no origin has rules for entities"
                    : "more than one origin has entities: \(list)",
                hint: "Say whose it is: --key KEY --origin NAME, or key:ORIGIN/KEY    See which "
                    + "there are: cachectl origin list"
            )
        }
        return only
    }
}
