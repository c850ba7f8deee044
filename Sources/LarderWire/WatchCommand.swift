import LarderJSON
package import LarderModel

/// What `GET` and `POST /v1/watch` ask for.
package struct WatchCommand: Equatable, Sendable {
    /// Where the watcher has come to; nil begins now.
    package var since: Revision?
    /// With ``keys`` at most ``Limits/watchedIDsMax``, and ``Limits/watchedPrefixesMax`` prefixes;
    /// none of them: every entry.
    package var ids: [EntryID] = []
    /// Entities of ``origin``.
    package var keys: [EntityKey] = []
    /// Nil where only one origin has rules.
    package var origin: OriginName?
    package var prefixes: [String] = []
    /// The kinds of frames, as they travel; empty: all.
    package var types: [WatchKind] = []
    /// Whether the entries that there are come first.
    package var listsFirst = false
    package var heartbeat = Limits.heartbeatTime
    /// How long one that streams nothing waits for the first event.
    package var timeout: Duration?
    package var account = AccountName.default

    package init() {}

    /// Whether frames of a kind are asked for.
    package func wants(_ kind: WatchKind) -> Bool { types.isEmpty || types.contains(kind) }

    /// Reads the parameters of a GET, and refuses every other.
    package init(query: Substring) throws(Problem) {
        var parameters = try QueryParameters(query)
        since = try parameters.take("since").map { text throws(Problem) in
            try Self.since(Int64(text), text)
        }
        ids = try Self.ids(parameters.takeAll("id"))
        try takeKeys(parameters.takeAll("key"), of: parameters.takeOrigin())
        prefixes = try Self.prefixes(parameters.takeAll("prefix"))
        types = try Self.types(
            parameters.take("types").map { $0.split(separator: ",").map(String.init) } ?? []
        )
        listsFirst = try Self.flag(parameters.take("initial"))
        heartbeat = try Duration(heartbeat: parameters.take("heartbeat"))
        timeout = try parameters.takeWait("timeout")
        account = try parameters.takeAccount()
        try parameters.refuseRest()
    }

    /// Reads the body of a POST, and refuses every unknown member.
    package init(json: [UInt8]) throws(Problem) {
        var members = try CommandMembers(json, of: Self.names)
        since = try members.take("since", "a revision", { $0.integer }).map {
            number throws(Problem) in
            try Self.since(number, String(number))
        }
        ids = try Self.ids(members.takeStrings("ids"))
        try takeKeys(members.takeStrings("keys"), of: members.takeOrigin())
        prefixes = try Self.prefixes(members.takeStrings("prefixes"))
        types = try Self.types(members.takeStrings("types"))
        listsFirst = try members.takeBool("initial") ?? false
        heartbeat = try Duration(heartbeat: members.takeString("heartbeat"))
        timeout = try members.takeString("timeout").map { text throws(Problem) in
            try Self.duration("timeout", text, in: .zero...Limits.fetchTimeMax)
        }
        account = try members.takeAccount()
    }

    private static let names = [
        "since", "ids", "keys", "origin", "prefixes", "types", "initial", "heartbeat", "timeout",
        "account",
    ]

    /// The revision in a `Last-Event-ID` header, which a browser sends when it comes back: it counts
    /// before the `since` of the URL, which is where it has begun.
    package mutating func takeLastEventID(_ text: String) throws(Problem) {
        since = try Self.since(Int64(text), text, "Last-Event-ID")
    }

    /// The body of a POST that ``init(json:)`` reads back.
    package func encodedJSON() -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            if let since { json.member("since", since.number) }
            if !ids.isEmpty { json.member("ids", ids.map(\.text)) }
            if !keys.isEmpty { json.member("keys", keys.map(\.text)) }
            if let origin { json.member("origin", origin.text) }
            if !prefixes.isEmpty { json.member("prefixes", prefixes) }
            if !types.isEmpty { json.member("types", types.map(\.rawValue)) }
            if listsFirst { json.member("initial", true) }
            if heartbeat != Limits.heartbeatTime { json.member("heartbeat", heartbeat.unitText) }
            if let timeout { json.member("timeout", timeout.unitText) }
            if account != .default { json.member("account", account.text) }
        }
        return json.bytes
    }
}

extension WatchCommand {
    private static func since(
        _ number: Int64?,
        _ text: String,
        _ name: String = "since"
    ) throws(Problem) -> Revision {
        guard let number, Limits.revisions.contains(number) else {
            throw Problem(.badRequest, "\(name): '\(text)' is no revision")
        }
        return Revision(number)
    }

    private static func ids(_ texts: [String]) throws(Problem) -> [EntryID] {
        try checkCount(texts, "ids", Limits.watchedIDsMax)
        return try texts.map { text throws(Problem) in
            do throws(ModelError) {
                return try EntryID(given: text)
            } catch {
                throw Problem(.badID, error.message)
            }
        }
    }

    /// Behind the ids, with which they are counted.
    private mutating func takeKeys(
        _ texts: [String],
        of origin: OriginName?
    ) throws(Problem) {
        let room = Limits.watchedIDsMax - ids.count
        guard texts.count <= room else {
            throw Problem(
                .badRequest,
                "keys: \(texts.count) are given, with the ids at most "
                    + "\(Limits.watchedIDsMax) are taken",
                hint: "Open a second watch for the rest."
            )
        }
        guard origin == nil || !texts.isEmpty else {
            throw Problem(.badRequest, "origin: it says whose the keys are, and none is given")
        }
        keys = try texts.map { text throws(Problem) in try EntityKey(command: text) }
        self.origin = origin
    }

    private static func prefixes(_ texts: [String]) throws(Problem) -> [String] {
        try checkCount(texts, "prefixes", Limits.watchedPrefixesMax)
        return try texts.map { text throws(Problem) in try IDPrefix.checked(text) }
    }

    private static func checkCount(
        _ texts: [String],
        _ name: String,
        _ most: Int
    ) throws(Problem) {
        guard texts.count <= most else {
            throw Problem(
                .badRequest,
                "\(name): \(texts.count) are given, at most \(most) are taken",
                hint: "Open a second watch for the rest, or give a prefix."
            )
        }
    }

    private static func types(_ texts: [String]) throws(Problem) -> [WatchKind] {
        try texts.map { text throws(Problem) in
            guard let kind = WatchKind(rawValue: text) else {
                throw Problem("types", text, isNoneOf: WatchKind.allCases.map(\.rawValue))
            }
            return kind
        }
    }

    private static func flag(_ text: String?) throws(Problem) -> Bool {
        switch text {
        case nil, "0", "false": return false
        case "1", "true": return true
        case let text?: throw Problem(.badRequest, "initial: '\(text)' is neither 1 nor 0")
        }
    }

    private static func duration(
        _ name: String,
        _ text: String,
        in range: ClosedRange<Duration>
    ) throws(Problem) -> Duration {
        guard let duration = try? Duration(unit: text), range.contains(duration) else {
            let (least, most) = (range.lowerBound.unitText, range.upperBound.unitText)
            throw Problem(.badRequest, "\(name): '\(text)' is no duration of \(least) to \(most)")
        }
        return duration
    }
}
