import LarderAPI
import LarderEngine
import LarderModel
import LarderStore
import LarderTestSupport
import LarderWire

/// Asks every route what it tells of the same ids, as one client of one account.
struct RouteRound: Sendable {
    let server: ServerFixture
    let client: RawClient
    let account: AccountName

    init(_ server: ServerFixture, _ account: AccountName = .default) async throws {
        self.server = server
        self.account = account
        client = try await server.connect()
    }

    var scope: ScopeKey {
        server.store.key(for: .own(uid: server.scope.scope.uid ?? 0, account: account))
    }

    /// What all routes say of each id, as of one moment: whatever goes on behind them is waited for.
    func tellings(_ ids: [EntryID]) async throws -> [EntryID: [Telling]] {
        // So that a policy that asks the network has what is cached for its first frame.
        try await setOffline(true)
        // An answer that says what is known already is news to nobody and makes a row younger.
        while server.engine.monitor.stats().flights.open > 0 { await Task.yield() }
        while true {
            let before = server.store.changes.published
            var told: [EntryID: [Telling]] = [:]
            try await tellStreams(ids, &told)
            for id in ids {
                told[id, default: []] += try await entry(id)
            }
            guard server.store.changes.published == before else { continue }
            try await setOffline(false)
            return told
        }
    }

    // MARK: The routes

    private func entry(_ id: EntryID) async throws -> [Telling] {
        let path = PercentCoding.entryPath(id)
        let query = "?account=\(account.text)"
        var told = [
            try Telling("GET", await client.ask("GET", path + query)),
            try Telling("GET, parsed", await client.ask("GET", path + query, ["Larder-Test: 1"])),
            try Telling("HEAD", await client.ask("HEAD", path + query), isHead: true),
        ]
        let explained = try await client.ask("GET", path + "/explain" + query)
        if explained.status == 200 {
            let explanation = try explained.value(EntryExplanation.self)
            told.append(Telling("explain", explanation))
        } else {
            told.append(try Telling("explain", explained))
        }
        guard let url = try? WebURL(id.text), let path = id.text.pathOfExample else { return told }
        let raw = try await client.ask(
            "GET",
            "/o/example" + path,
            ["Cache-Control: only-if-cached", "Larder-Account: \(account.text)"]
        )
        told.append(try Telling("raw", raw))
        for policy in [FetchPolicy.cacheOnly, .cacheThenNetwork] {
            told.append(try await fetch(url, policy))
        }
        told.append(try await fetch(url, .cacheOnly, follows: true))
        return told
    }

    private func setOffline(_ isOffline: Bool) async throws {
        let uid = server.scope.scope.uid ?? 0
        _ = try await server.engine.origins.setOffline(OriginName("example"), isOffline, for: uid)
    }

    /// The first frame.
    private func fetch(
        _ url: WebURL,
        _ policy: FetchPolicy,
        follows: Bool = false
    ) async throws -> Telling {
        var command = FetchOrder(url: url)
        command.policy = policy
        command.account = account
        command.follows = follows
        let reader = try server.store.makeReader()
        defer { reader.endTransaction() }
        let frames = Recorder<FetchFrame>()
        let refusal = await server.engine.fetch(
            command,
            scope: scope,
            reader: reader,
            cancellation: ClientCancellation(),
            emit: { frame in
                frames.record(frame)
                return false
            }
        )
        let route = "\(follows ? "follow" : "fetch") \(policy)"
        return try Telling(route, frames.all.first, refusal)
    }

    /// The routes that tell several at once.
    private func tellStreams(_ ids: [EntryID], _ told: inout [EntryID: [Telling]]) async throws {
        var command = BatchCommand(ids: ids.map(\.description))
        command.account = account.text
        let body = APIEncoder().encode(command)
        let batch = try await client.ask("POST", "/v1/entries/batch", body: body)
        for (id, line) in zip(ids, batch.lines) {
            switch try BatchFrame(line: Array(line.utf8)) {
            case .snapshot(let frame): told[id, default: []].append(Telling("batch", frame))
            case .deleted(let frame):
                told[id, default: []].append(Telling("batch", frame.deletion))
            case .miss: told[id, default: []].append(Telling("batch", miss: true))
            case .end, .other: throw UnexpectedAnswer(text: batch.text)
            }
        }
        var watch = WatchOrder()
        watch.ids = ids
        let named = try await listed(watch)
        var byPrefix = WatchOrder()
        byPrefix.prefixes = [ServerFixture.baseURL]
        let listed = try await listed(byPrefix)
        for id in ids {
            var telling = Telling("watch")
            telling.take(named[id])
            told[id, default: []].append(telling)
            guard id.text.hasPrefix(ServerFixture.baseURL) else { continue }
            telling = Telling("watch prefix")
            telling.take(listed[id])
            told[id, default: []].append(telling)
        }
    }

    /// What a watch lists first.
    private func listed(_ watch: WatchOrder) async throws -> [EntryID: ChangeFrame] {
        var command = watch
        command.account = account
        command.listsFirst = true
        let told = Recorder<WatchFrame>()
        let refusal = await server.engine.watches.watch(
            command,
            scope: scope,
            client: nil,
            cancellation: ClientCancellation(),
            emit: { frames in
                for frame in frames { told.record(frame) }
                return !frames.contains {
                    if case .bookmark(let mark) = $0 { mark.initialDone == true } else { false }
                }
            }
        )
        if let refusal { throw refusal }
        var events: [EntryID: ChangeFrame] = [:]
        for frame in told.all {
            guard case .put(let event) = frame, event.initial == true else { continue }
            events[try event.entryID] = event
        }
        return events
    }
}

extension Telling {
    /// Of what is not shown a list says nothing.
    fileprivate mutating func take(_ event: ChangeFrame?) {
        guard let event else {
            self[.isShown] = "false"
            return
        }
        self[.content] = "shown"
        self[.rev] = "\(event.rev)"
        self[.made] = "\(event.source == "modifier")"
    }
}

extension String {
    /// Of a URL of the fixture's origin the path.
    fileprivate var pathOfExample: String? {
        hasPrefix(ServerFixture.baseURL) ? String(dropFirst(ServerFixture.baseURL.count)) : nil
    }
}
