package import LarderAPI
package import LarderModel
package import LarderStore
import LarderStrategy
import LarderWire

package struct Watches: EnginePart {
    let context: EngineContext

    /// Runs a client's watch.
    ///
    /// `emit` takes the frames and returns false when the client no longer reads.
    ///
    /// Returns the problem that the client gets instead of any frame; nil if there is none.
    ///
    /// `cancellation` ends when the client hangs up.
    package func watch(
        _ command: WatchOrder,
        scope: ScopeKey,
        client: ClientTag?,
        cancellation: ClientCancellation,
        hasBookmarks: Bool = true,
        emit: @escaping ([WatchFrame]) async -> Bool
    ) async -> Problem? {
        let mailbox = Mailbox<WatchSession.Event>()
        guard let seat = context.sessions.add({ mailbox.post(.news) }) else { return .daemonEnds }
        defer { context.sessions.remove(seat) }
        let changes = store.changes
        var command = command
        if let since = command.since, !command.listsFirst,
            since < changes.start || since > changes.last
        {
            guard command.listsIfTooOld else { return Problem(since: since, oldest: changes.start) }
            command.listsFirst = true
        }
        let hub = context.watchers
        // The watch of a renamed id is one of its real id, too.
        let known = Set(command.ids)
        let current = command.ids.map { store.modifiers.current($0, in: scope) }
        command.ids += current.filter { !known.contains($0) }
        var interests = WatchInterest(command)
        interests.written = Set(
            command.ids.compactMap { context.entity(at: $0, in: scope).map(EntryID.init) }
        )
        let number = hub.join(
            scope.scope,
            interests,
            since: command.since,
            listsFirst: command.listsFirst,
            hasBookmarks: hasBookmarks,
            wake: { mailbox.post(.news) }
        )
        guard let number else {
            return Problem(
                .overloaded,
                "\(Limits.watchersPerUserMax) watches of this user are open already",
                hint: "End one of them, or name more ids in one."
            )
        }
        defer { hub.leave(number) }
        cancellation.whenGivenUp { mailbox.post(.hungUp) }
        var session = WatchSession(
            context: context,
            scope: scope,
            command: command,
            client: client,
            timers: SessionTimers(clock: clock, mailbox: mailbox),
            number: number,
            emit: emit
        )
        return await session.run()
    }

    /// The first frames of a watch, for a client that reads no stream; none when the time is over.
    package func poll(
        _ command: WatchOrder,
        scope: ScopeKey,
        client: ClientTag?,
        cancellation: ClientCancellation
    ) async throws(Problem) -> WatchReport {
        guard !command.listsFirst else {
            throw Problem(
                .badRequest,
                "initial: only a stream takes it, not a long poll",
                hint: "Accept application/jsonl or text/event-stream."
            )
        }
        var command = command
        command.listsIfTooOld = false
        var report = WatchReport(rev: command.since?.number ?? 0, items: [])
        let refusal = await watch(
            command,
            scope: scope,
            client: client,
            cancellation: cancellation,
            hasBookmarks: false,
            emit: { frames in
                guard !frames.allSatisfy(\.isHeartbeat) else { return true }
                for frame in frames {
                    if let revision = frame.revision { report.rev = revision }
                    if case .end = frame { continue }
                    report.items.append(frame)
                }
                return false
            }
        )
        if let refusal { throw refusal }
        return report
    }
}

extension Problem {
    /// The changes after a revision are not known any more, or it is none of this daemon's.
    init(since: Revision, oldest: Revision) {
        self.init(
            .sinceTooOld,
            since < oldest
                ? "the changes after \(since.number) are known from \(oldest.number) on only"
                : "\(since.number) is no revision that this daemon has given"
        )
        self.oldest = oldest.number
    }
}

extension WatchInterest {
    init(_ command: WatchOrder) {
        self.init(ids: Set(command.ids), prefixes: command.prefixes)
        guard !command.types.isEmpty else { return }
        kinds = Set(command.types)
        // When an own row goes, the shared row may show, which is a put.
        if command.wants(.put) { kinds.insert(.evict) }
    }
}

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
    package var listsFirst = false
    /// Whether the list comes first if the changes after ``since`` are not known any more.
    package var listsIfTooOld = false
    package var heartbeat = Limits.heartbeatTime
    /// The time for which a long poll waits for the first event.
    package var timeout: Duration?
    package var account = AccountName.default

    package init() {}

    package init(_ command: WatchCommand) throws(Problem) {
        let options = command.options
        since = try command.since.map { number throws(Problem) in
            try Self.revision(number, String(number), "since")
        }
        let ids = command.ids ?? []
        let hint = "Open a second watch for the rest, or give a prefix."
        try ids.checkCount("ids", in: 0...Limits.watchedIDsMax, hint: hint)
        self.ids = try ids.map { text throws(Problem) in try EntryID(command: text) }
        let prefixes = command.prefixes ?? []
        try prefixes.checkCount("prefixes", in: 0...Limits.watchedPrefixesMax, hint: hint)
        self.prefixes = try prefixes.map { text throws(Problem) in
            try EntryID.prefix(command: text)
        }
        types = (options.types ?? []).compactMap { WatchKind(rawValue: $0.rawValue) }
        listsFirst = options.initial ?? false
        heartbeat = try Duration(heartbeat: options.heartbeat)
        timeout = try options.timeout?.checked("timeout")
        account = try AccountName(command: options.account)
    }

    /// Takes the revision in a `Last-Event-ID` header, which a browser sends when it comes back.
    ///
    /// The revision replaces the `since` of the URL, which is where the browser began.
    ///
    /// No list comes first then, as only events after a list have an id. A browser never comes back
    /// after a problem, so it gets the list again if the revision is too old.
    package mutating func takeLastEventID(_ text: String) throws(Problem) {
        since = try Self.revision(Int64(text), text, "Last-Event-ID")
        (listsFirst, listsIfTooOld) = (false, listsFirst)
    }

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
}
