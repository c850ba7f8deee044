package import LarderAPI
import LarderJSON
package import LarderModel
import LarderStore
import LarderStrategy
import LarderWire

/// A fetch with everything that its origin's settings decide for it; the rest is its command's.
@dynamicMemberLookup
struct FetchRequest: Sendable {
    var command: FetchOrder
    let origin: OriginSettings
    let client: ClientTag?
    /// Rules of the raw routes, which pass on any answer of the origin, even one that cannot be
    /// stored.
    var raw: RawRules?
    /// Whether the client reads the origin's own words in place of the daemon's, as under `/o/`.
    var quotesOrigin = false
    /// The client's Range of a raw read.
    var range: RangeFields?
    /// Whether it is a raw HEAD.
    var isHead = false

    init(_ command: FetchOrder, origin: OriginSettings, client: ClientTag? = nil) {
        (self.command, self.origin, self.client) = (command, origin, client)
    }

    subscript<Value>(dynamicMember member: KeyPath<FetchOrder, Value>) -> Value {
        command[keyPath: member]
    }

    /// The same for the part of the body that the client asks for.
    var withRange: FetchRequest {
        var request = self
        for field in range?.fields ?? [] { request.command.headers.append(field.name, field.value) }
        return request
    }

    /// Whether the origin is to send only a part if nothing is stored; the part is not stored then.
    func passesRange(_ context: EngineContext, _ scope: ScopeKey) -> Bool {
        range?.isOfWholeBody == false && showsAnswer(context, scope)
    }

    /// Whether the whole body goes to the client while it is stored, if nothing is stored.
    func streamsRange(_ context: EngineContext, _ scope: ScopeKey) -> Bool {
        range?.isOfWholeBody == true && showsAnswer(context, scope)
    }

    /// Whether the head of the origin's answer is sufficient, if nothing is stored.
    func wantsHead(_ context: EngineContext, _ scope: ScopeKey) -> Bool {
        isHead && showsAnswer(context, scope)
    }

    /// The body of an answer to HEAD, of which nothing is read; nil for another request.
    var noBody: PassThroughBody? { isHead ? PassThroughBody() : nil }

    /// Whether the answer goes to the client without being stored, as the client wants it.
    ///
    /// If writes wait that may show in it, it is stored to show them.
    func passesWhole(_ context: EngineContext, _ scope: ScopeKey) -> Bool {
        guard let raw, !raw.isKept else { return false }
        return raw.isEventStream || !mayShowWrites(context, scope)
    }

    private func showsAnswer(_ context: EngineContext, _ scope: ScopeKey) -> Bool {
        command.content == nil && command.id != nil && !mayShowWrites(context, scope)
    }

    /// Whether a waiting write may show in the answer; then a part is cut from the whole view.
    private func mayShowWrites(_ context: EngineContext, _ scope: ScopeKey) -> Bool {
        guard context.store.modifiers.hasTargets else { return false }
        let isTargeted = command.id.map { context.isTargeted(scope, $0) } ?? false
        return isTargeted || context.origins.entityRules[origin.name] != nil
    }

    var policy: FetchPolicy { raw?.policy ?? command.policy ?? origin.fetch.policy }
    var networkWait: Duration { command.networkWait ?? origin.fetch.networkWait }
    var timeout: Duration { command.timeout ?? origin.fetch.timeout }
    var normalizes: Bool { command.normalizes ?? true }

    /// The time until which a client without a timeout of its own waits for the next bytes of a
    /// flight; nil if it waits no longer.
    func due(of flight: Flight?, now: Duration) -> Duration? {
        guard command.timeout == nil, let due = flight?.originDue(now: now), due > now else {
            return nil
        }
        return due
    }

    func answer(_ cached: ShownAnswer?, now: Timestamp) -> FetchMachine<FetchFailure>.CacheAnswer {
        guard let cached else { return .miss }
        let (entry, revision) = (cached.entry, cached.entry.revision)
        guard entry.kind == .fetched else {
            return cached.isDeletedByModifier ? .deletion(revision) : .tombstone(revision)
        }
        let isStale = entry.isStale(at: now)
        guard let raw else { return .hit(revision, isFresh: !isStale) }
        let freshFor = entry.freshUntil.map { isStale ? min(.zero, $0.since(now)) : $0.since(now) }
        let age = RawFields.age(of: entry, now: now)
        switch raw.grade(age: age, freshFor: freshFor, mustRevalidate: entry.mustRevalidate) {
        case .fresh: return .hit(revision, isFresh: true)
        case .stale: return .hit(revision, isFresh: false)
        case .refused: return .miss
        }
    }

    /// Throws if the origin cannot be asked again at the interval that the client wants.
    func checkRefresh(_ scope: ScopeKey, _ context: EngineContext) throws(Problem) {
        guard let refresh = command.refresh else { return }
        try refresh.checkRefresh(at: origin)
        guard policy != .cacheOnly else {
            throw Problem(.badRequest, "refresh: it asks the origin, which cache-only does not")
        }
        if let id = command.id { try context.refreshes.checkRoom(for: [id], scope) }
    }

    /// Whether the answer may be shared: the origin allows it, and no header can be a client's
    /// credential.
    var isShareable: Bool {
        origin.isShared && !FlightRules.mayHoldCredential(command.headers)
    }

    /// The view that answers the request: under the URL, or under the id for its headers.
    ///
    /// `isUse` says whether this counts as a use of the row.
    func lookUp(
        _ reader: StoreReader,
        _ lookupScopes: LookupScopes,
        in context: EngineContext,
        isUse: Bool = true
    ) throws(StoreError) -> ShownAnswer? {
        let now = context.clock.now()
        var look = EntryReader(context: context, scope: lookupScopes.own, reader: reader, now: now)
        (look.isPartial, look.isUse) = (command.isPartial, isUse)
        guard let id = try id(reader, lookupScopes, context.variants, now: now, isUse: isUse),
            let found = try look.answer(of: id, in: lookupScopes)
        else { return nil }
        return isAnswered(by: found, context.variants) ? found : nil
    }

    /// The same, read on the event loop, or off it if that takes long.
    func lookUp(
        on loop: StoreReader,
        _ scope: ScopeKey,
        _ context: EngineContext
    ) async throws(StoreError) -> ShownAnswer? {
        let lookupScopes = context.lookupScopes(scope, self)
        return try await context.store.read(on: loop) { reader throws(StoreError) in
            try lookUp(reader, lookupScopes, in: context)
        }
    }

    /// The view under the id that a stream follows; nil if it is the answer to other headers.
    func followed(
        _ id: EntryID,
        _ reader: StoreReader,
        _ lookupScopes: LookupScopes,
        in context: EngineContext
    ) async throws(StoreError) -> ShownAnswer? {
        let (entries, isPartial) = (Entries(context: context), command.isPartial)
        let found = try await entries.answer(lookupScopes, id, on: reader, isPartial: isPartial)
        return found.flatMap { isAnswered(by: $0, context.variants) ? $0 : nil }
    }

    private func id(of read: EntryID?, _ variants: Variants, names: [String]) -> EntryID? {
        read.flatMap {
            try? variants.id(of: $0, names: names, request: command.headers, origin: origin)
        }
    }

    /// Whether the view under the id answers this request, and not one with other headers.
    private func isAnswered(by view: ShownAnswer, _ variants: Variants) -> Bool {
        // A view that only modifiers made answers a request with any headers.
        guard view.source != .modifier else { return true }
        let entry = view.entry
        switch entry.kind {
        case .fetched:
            // Not the request's own id, which may be a temporary one of this entry.
            let read = entry.id.urlOfVariant ?? entry.id
            return id(of: read, variants, names: Variants.names(in: entry.headers)) == entry.id
        case .tombstone: return true
        case .blob, .variants, .entity: return false
        }
    }

    /// The id of the row with the names of the headers by which the answers vary; nil for a request
    /// without headers.
    var variantMarker: EntryID? {
        guard !command.headers.fields.isEmpty else { return nil }
        return command.id.flatMap { try? Variants.markerID(of: $0) }
    }

    private func id(
        _ reader: StoreReader,
        _ lookupScopes: LookupScopes,
        _ variants: Variants,
        now: Timestamp,
        isUse: Bool
    ) throws(StoreError) -> EntryID? {
        guard let marker = variantMarker else { return command.id }
        var names: [String] = []
        for scope in lookupScopes.scopes {
            let found = try reader.withEntry(scope, marker, now: now, isUse: isUse) { row in
                row.withBody { String(decoding: $0, as: UTF8.self) }.split(separator: ",")
            }
            guard let found else { continue }
            names = found.map(String.init)
            break
        }
        return id(of: command.id, variants, names: names)
    }
}

/// A fetch with checked values.
package struct FetchOrder: Equatable, Sendable {
    package var url: WebURL
    /// The body of a read that is not a GET.
    package var content: RequestContent?
    /// Nil leaves it to the origin's settings; so do the next two.
    package var policy: FetchPolicy?
    /// The time for which the cached answer waits for the network, if the policy says so.
    package var networkWait: Duration?
    /// The time for which the client waits in all.
    package var timeout: Duration?
    package var account = AccountName.default
    /// Whether the answer's entities are shared with other answers; nil leaves it to the origin's
    /// rules.
    package var normalizes: Bool?
    /// Whether a cached answer is shown without its evicted entities.
    package var isPartial = false
    /// Whether the stream stays open and tells each further view.
    package var follows = false
    package var heartbeat = Limits.heartbeatTime
    /// The interval at which the origin is asked again while the stream is open.
    package var refresh: Duration?
    /// Sent to the origin.
    package var headers = HeaderFields()

    /// The id of an answer that is the same for any header fields; nil if the URL is too long.
    var id: EntryID? { try? EntryID(url, content) }

    package init(url: WebURL) {
        self.url = url
    }

    package init(_ command: FetchCommand) throws(Problem) {
        let options = command.options
        url = try Problem.checking(nil, .badURL) { () throws(ModelError) in try WebURL(command.url)
        }
        content = try RequestContent(options)
        policy = options.policy.flatMap { FetchPolicy(rawValue: $0.rawValue) }
        networkWait = try options.networkWait?.checked("network_wait")
        let times = .milliseconds(1)...Limits.fetchTimeMax
        timeout = try options.timeout?.checked("timeout", in: times)
        account = try AccountName(command: options.account)
        normalizes = options.normalize
        isPartial = options.partial ?? false
        follows = options.follow ?? false
        heartbeat = try Duration(heartbeat: options.heartbeat)
        refresh = options.refresh
        guard refresh == nil || follows else {
            throw Problem(
                .badRequest,
                "refresh: only a stream with follow takes it",
                hint: "Add follow=true, or pin the URL: PUT /v1/pins/URL?refresh=1h."
            )
        }
        headers = try RequestHeaderRules.fields(options.headers)
    }
}

extension Problem {
    static let tooManyPolledRows = Problem(
        .overloaded,
        "\(Limits.polledRowsPerUserMax) entries are refreshed already",
        hint: "End a follower that has refresh, or unpin an entry that has it."
    )
}

extension Duration {
    /// Throws if it is too short or too long for `refresh` at an origin.
    func checkRefresh(at origin: OriginSettings) throws(Problem) {
        let least = min(origin.fetch.minRefresh, Limits.refreshTimeMax)
        _ = try checked("refresh", in: least...Limits.refreshTimeMax)
    }

    /// The time between two heartbeats that a command asks for.
    init(heartbeat: Duration?) throws(Problem) {
        self =
            try heartbeat?.checked("heartbeat", in: Limits.heartbeatTimes)
            ?? Limits.heartbeatTime
    }
}
