package import LarderAPI
package import LarderModel
import LarderWire

/// A watch with checked values.
package struct WatchOrder: Equatable, Sendable {
    /// The revision after which changes are told; nil begins now.
    package var since: Revision?
    /// At most ``Limits/watchedIDsMax``, and ``Limits/watchedPrefixesMax`` prefixes; none of them:
    /// every entry.
    package var ids: [EntryID] = []
    package var prefixes: [String] = []
    /// The kinds of frames; empty: all.
    package var types: [WatchKind] = []
    /// Whether the entries that there are come first.
    package var listsFirst = false
    package var heartbeat = Limits.heartbeatTime
    /// How long one that streams nothing waits for the first event.
    package var timeout: Duration?
    package var account = AccountName.default

    package init() {}

    package init(_ command: WatchCommand) throws(Problem) {
        let options = command.options
        since = try command.since.map { number throws(Problem) in
            try Self.revision(number, String(number), "since")
        }
        let ids = command.ids ?? []
        try Self.check(ids.count, "ids", atMost: Limits.watchedIDsMax)
        self.ids = try ids.map { text throws(Problem) in try EntryID(command: text) }
        let prefixes = command.prefixes ?? []
        try Self.check(prefixes.count, "prefixes", atMost: Limits.watchedPrefixesMax)
        self.prefixes = try prefixes.map { text throws(Problem) in
            try EntryID.prefix(command: text)
        }
        types = (options.types ?? []).compactMap { WatchKind(rawValue: $0.rawValue) }
        listsFirst = options.initial ?? false
        heartbeat = try Duration(heartbeat: options.heartbeat)
        timeout = try options.timeout?.checked("timeout")
        account = try AccountName(command: options.account)
    }

    /// The revision in a `Last-Event-ID` header, which a browser sends when it comes back: it counts
    /// before the `since` of the URL, which is where it has begun.
    package mutating func takeLastEventID(_ text: String) throws(Problem) {
        since = try Self.revision(Int64(text), text, "Last-Event-ID")
    }

    /// Whether frames of a kind are asked for.
    package func wants(_ kind: WatchKind) -> Bool { types.isEmpty || types.contains(kind) }

    private static func revision(
        _ number: Int64?,
        _ text: String,
        _ name: String
    ) throws(Problem) -> Revision {
        guard let number, Limits.revisions.contains(number) else {
            throw Problem(.badRequest, "\(name): '\(text)' is no revision")
        }
        return Revision(number)
    }

    private static func check(
        _ count: Int,
        _ name: String,
        atMost most: Int
    ) throws(Problem) {
        guard count <= most else {
            throw Problem(
                .badRequest,
                "\(name): \(count) are given, at most \(most) are taken",
                hint: "Open a second watch for the rest, or give a prefix."
            )
        }
    }
}
