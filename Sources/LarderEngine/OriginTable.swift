package import LarderModel
package import LarderNormalize
import LarderStore
import LarderStrategy
import Synchronization

/// The origins at one moment, and the mapping from URLs to them.
///
/// A value: the engine replaces the whole table when an origin is added or removed. A caller goes
/// on with the table that it has read.
package struct OriginTable: Sendable {
    package let known: [KnownOrigin]
    /// The user who may fetch public URLs without naming their origin; nil for a daemon that
    /// serves the whole system.
    package let owner: UInt32?
    private let byLength: [OriginSettings]
    /// The start of the URLs of each origin whose answers are shared, and of each origin that has
    /// rules for documents: of most ids the start says that no other look is needed.
    private let sharedAddresses: [String]
    private let documentAddresses: [String]
    private let byName: [OriginName: KnownOrigin]
    /// The rules of the origins whose answers are normalized.
    package let entityRules: [OriginName: EntityRules]

    package init(_ known: [KnownOrigin], owner: UInt32? = nil) {
        self.known = known.sorted { $0.name < $1.name }
        self.owner = owner
        byLength = known.map(\.settings)
            .sorted { $0.baseURL.path.utf8.count > $1.baseURL.path.utf8.count }
        sharedAddresses = byLength.filter(\.isShared).map(\.baseURL.baseAddress)
        documentAddresses = byLength.filter(\.hasDocuments).map(\.baseURL.baseAddress)
        byName = Dictionary(known.map { ($0.name, $0) }) { first, _ in first }
        entityRules = byName.compactMapValues { $0.settings.normalize.map(EntityRules.init) }
    }

    package var origins: [OriginSettings] { known.map(\.settings) }

    package subscript(name: OriginName) -> KnownOrigin? { byName[name] }

    /// The origin whose `base_url` is the longest prefix of `url` in whole path segments.
    ///
    /// A URL with dot segments may lead out of the path of a base URL, and would carry the origin's
    /// own headers there. So only a base URL without a path has such URLs.
    package func origin(of url: WebURL) -> OriginSettings? {
        let hasDots = url.hasDotSegments
        return byLength.first { origin in
            origin.baseURL.isPrefix(of: url) && !(hasDots && origin.baseURL.path != "/")
        }
    }

    /// The origin of `url` for a client with this uid, to the daemon's owner also a public host.
    package func origin(of url: WebURL, for uid: UInt32?) -> OriginSettings? {
        if let known = origin(of: url) { return known }
        guard let owner, owner == uid else { return nil }
        return implicitOrigin(of: url)
    }

    /// The origin with this name, as a client with this uid sees it: a public host's name is an
    /// origin's to the daemon's owner.
    package func origin(named name: OriginName, for uid: UInt32?) -> OriginSettings? {
        if let known = byName[name] { return known.settings }
        guard let owner, owner == uid, let url = ImplicitOrigin.baseURL(named: name),
            let origin = implicitOrigin(of: url), origin.name == name
        else { return nil }
        return origin
    }

    /// The origin whose base URL is a prefix of an id; nil for an id that is not a URL.
    package func origin(of id: EntryID, for uid: UInt32?) -> OriginSettings? {
        guard id.text.hasScheme, let url = try? WebURL(id.text) else { return nil }
        return origin(of: url, for: uid)
    }

    /// The URL of an entity's own; nil where its type has none, or another origin has it.
    package func ownURL(of name: EntityName) -> WebURL? {
        guard let base = byName[name.origin]?.settings.baseURL.text,
            let path = entityRules[name.origin]?.path(of: name.key),
            let url = try? WebURL((base.hasSuffix("/") ? String(base.dropLast()) : base) + path),
            origin(of: url)?.name == name.origin
        else { return nil }
        return url
    }

    /// The URL of a request that follows from the effect on a target; nil for an entity whose type
    /// has no URL.
    ///
    /// A thing whose URL is not known yet has its name in place of the URL's path.
    func derivedURL(of id: EntryID, at name: OriginName?) throws(ModelError) -> WebURL? {
        guard !id.isEntity else { return id.entity.flatMap { ownURL(of: $0) } }
        guard let thing = id.temporary, let base = name.flatMap({ self[$0]?.settings.baseURL })
        else { return try WebURL(id.text) }
        return try WebURL("\(base.baseAddress)/{{id:\(thing)}}")
    }

    /// The rules of a target's origin for it as a document; nil if there are none.
    ///
    /// A variant is its URL's document.
    package func document(_ id: EntryID, for uid: UInt32?) -> DocumentRules? {
        if let name = id.entity { return entityRules[name.origin].map { .init(ofEntity: $0) } }
        guard id.begins(withOneOf: documentAddresses) else { return nil }
        let text = String(Substring(id.text.utf8.prefix { $0 != UInt8(ascii: " ") }))
        guard let url = try? WebURL(text),
            let origin = origin(of: url, for: uid), let path = origin.path(of: url)
        else { return nil }
        let (rules, form) = (entityRules[origin.name], origin.modifiers.form(forPath: path))
        guard rules != nil || form != nil else { return nil }
        return DocumentRules(rules, path: path, form: form)
    }

    /// The entity whose own URL an id is, by the rules of its origin; nil for any other.
    package func entity(at id: EntryID) -> EntityName? {
        guard id.begins(withOneOf: documentAddresses), let url = try? WebURL(id.text),
            url.text == id.text, url.path == url.pathAndQuery[...],
            let origin = origin(of: url), let rules = entityRules[origin.name],
            let path = origin.path(of: url), let key = rules.key(ofPath: path)
        else { return nil }
        return EntityName(key, of: origin.name)
    }

    func names(_ credentials: CredentialTable) -> OriginNames {
        OriginNames(
            rules: entityRules,
            ownID: { name in ownURL(of: name).flatMap { try? EntryID($0) } },
            origin: { id, scope in origin(of: id, for: scope.uid)?.name },
            document: { id, scope in document(id, for: scope.uid) },
            split: { id, name, bytes in
                guard let rules = entityRules[name], let url = try? WebURL(id.text),
                    let path = self[name]?.settings.path(of: url)
                else { return nil }
                let splitter = Splitter(rules, bodyBytesMax: Limits.normalizedBodyBytesMax)
                guard case .split(let split) = splitter.split(bytes, path: path, query: url.query)
                else { return nil }
                return split
            },
            showsOwnOnly: { id, scope in
                guard let origin = sharingOrigin(of: id) else { return true }
                return credentials.current(of: scope, at: origin) != nil
            }
        )
    }

    package var hasSharedOrigins: Bool { !sharedAddresses.isEmpty }

    /// The origin whose answers are shared and one of which, or an entity in one, has this id.
    ///
    /// An answer that varies has its URL before a space; no URL has one.
    package func sharingOrigin(of id: EntryID) -> OriginSettings? {
        if let entity = id.entity { return byName[entity.origin]?.settings.ifShared }
        guard id.begins(withOneOf: sharedAddresses) else { return nil }
        let text = String(Substring(id.text.utf8.prefix { $0 != UInt8(ascii: " ") }))
        guard let url = try? WebURL(text), url.text == text else { return nil }
        return origin(of: url)?.ifShared
    }

    package func with(_ origin: KnownOrigin) -> OriginTable {
        OriginTable(known.filter { $0.name != origin.name } + [origin], owner: owner)
    }

    package func without(_ name: OriginName) -> OriginTable {
        OriginTable(known.filter { $0.name != name }, owner: owner)
    }

    private func implicitOrigin(of url: WebURL) -> OriginSettings? {
        ImplicitOrigin.origin(for: url) { byName[$0] != nil }
    }
}

extension OriginSettings {
    fileprivate var ifShared: OriginSettings? { isShared ? self : nil }
    fileprivate var hasDocuments: Bool { normalize != nil || !modifiers.empty.isEmpty }
}

extension EntryID {
    fileprivate func begins(withOneOf addresses: [String]) -> Bool {
        addresses.contains { text.utf8.starts(with: $0.utf8) }
    }
}

/// The health of every origin, and the public hosts that clients asked for; guarded by a lock.
final class OriginHealthTable: Sendable {
    private struct State {
        var health: [OriginName: OriginHealth]
        /// At most ``Limits/implicitOriginsMax``; the least recently used host is dropped.
        var implicit: [OriginName: (settings: OriginSettings, lastUse: Int)] = [:]
        var uses = 0
    }

    private let state: Mutex<State>

    init(_ table: OriginTable, now: Timestamp) {
        let health = table.known.map { ($0.name, OriginHealth(now: now)) }
        state = Mutex(State(health: Dictionary(health) { first, _ in first }))
    }

    subscript(name: OriginName) -> OriginHealth? {
        state.withLock { $0.health[name] }
    }

    /// Public hosts that clients asked for lately, in the order of their names.
    var implicitOrigins: [OriginSettings] {
        state.withLock { $0.implicit.values.map(\.settings) }.sorted { $0.name < $1.name }
    }

    @discardableResult
    func change<Result>(_ name: OriginName, _ body: (inout OriginHealth) -> Result) -> Result? {
        state.withLock { state in
            guard var health = state.health[name] else { return nil }
            defer { state.health[name] = health }
            return body(&health)
        }
    }

    func implicitOrigin(_ name: OriginName) -> OriginSettings? {
        state.withLock { $0.implicit[name]?.settings }
    }

    /// Adds a public host that a client asks for; true if there are too many with it.
    func admit(_ origin: OriginSettings, now: Timestamp) -> Bool {
        state.withLock { state in
            state.uses += 1
            if state.health[origin.name] == nil {
                state.health[origin.name] = OriginHealth(now: now)
            }
            state.implicit[origin.name] = (origin, state.uses)
            return state.implicit.count > Limits.implicitOriginsMax
        }
    }

    /// Drops the least recently used public host if there are too many, and returns its name.
    ///
    /// A host that clients wait for is dropped only if they wait for all others, too: no client
    /// would hear that it is back.
    func dropOldest(besides waited: Set<OriginName>) -> OriginName? {
        state.withLock { state in
            guard state.implicit.count > Limits.implicitOriginsMax else { return nil }
            let newest = state.uses
            let idle = state.implicit.filter {
                !waited.contains($0.key) && $0.value.lastUse < newest
            }
            let oldest = (idle.isEmpty ? state.implicit : idle).min {
                $0.value.lastUse < $1.value.lastUse
            }
            guard let oldest else { return nil }
            state.implicit[oldest.key] = nil
            state.health[oldest.key] = nil
            return oldest.key
        }
    }

    /// Takes a new table.
    ///
    /// The health of an origin stays if its address stays.
    func replace(_ old: OriginTable, with table: OriginTable, now: Timestamp) {
        state.withLock { state in
            for origin in old.known
            where table[origin.name]?.settings.baseURL != origin.settings.baseURL {
                state.health[origin.name] = nil
            }
            let covered = state.implicit.values.map(\.settings).filter { implicit in
                table[implicit.name] != nil || table.origin(of: implicit.baseURL) != nil
            }
            for implicit in covered {
                state.implicit[implicit.name] = nil
                state.health[implicit.name] = nil
            }
            for origin in table.known where state.health[origin.name] == nil {
                state.health[origin.name] = OriginHealth(now: now)
            }
        }
    }
}

/// Waits for origins, and the ``ProbeMachine`` of each origin; guarded by a lock.
final class OriginWaiters: Sendable {
    private struct Watched {
        var machine = ProbeMachine(isDown: false)
        /// Whether requests to the origin fail now: it is down, or an operator set it offline.
        var isShut = false
        var waiting: [Int: (scope: Scope, tell: @Sendable () -> Void)] = [:]
    }

    private let origins = Mutex<[OriginName: Watched]>([:])
    // Relaxed: it only tells those who wait apart.
    private let waitCount = Atomic(0)

    /// Has `tell` called each time the origin is back, until ``leave(_:_:)`` with the number.
    func wait(
        for name: OriginName,
        as scope: Scope,
        _ tell: @escaping @Sendable () -> Void
    ) -> (number: Int, action: ProbeMachine.LoopAction) {
        let number = waitCount.add(1, ordering: .relaxed).newValue
        let action = change(name) { watched in
            watched.waiting[number] = (scope, tell)
            return watched.machine.interestBegan()
        }
        return (number, action)
    }

    func leave(_ name: OriginName, _ number: Int) {
        change(name) { watched in
            guard watched.waiting.removeValue(forKey: number) != nil else { return }
            watched.machine.interestEnded()
        }
    }

    var waitedFor: Set<OriginName> {
        origins.withLock { origins in Set(origins.filter { !$0.value.waiting.isEmpty }.keys) }
    }

    private func change<Result>(_ name: OriginName, _ body: (inout Watched) -> Result) -> Result {
        origins.withLock { origins in
            var watched = origins[name] ?? Watched()
            defer {
                let isKept = !watched.machine.isForgettable || watched.isShut
                origins[name] = isKept ? watched : nil
            }
            return body(&watched)
        }
    }

    /// Takes a possible change of the origin's condition.
    ///
    /// `condition` reads the newest under the lock, so that of two changes the later one is seen
    /// last.
    ///
    /// Returns the callbacks to call because the origin is back.
    func changed(
        _ name: OriginName,
        _ condition: () -> (isDown: Bool, isManuallyOffline: Bool)
    ) -> (told: [@Sendable () -> Void], action: ProbeMachine.LoopAction) {
        change(name) { watched in
            let new = condition()
            let wasShut = watched.isShut
            watched.isShut = new.isDown || new.isManuallyOffline
            let told = wasShut && !watched.isShut ? watched.waiting.values.map(\.tell) : []
            guard new.isDown, !new.isManuallyOffline else {
                watched.machine.cameBack()
                return (told, .nothing)
            }
            return (told, watched.machine.wentDown())
        }
    }

    /// Tells the machine of an origin an event that concerns no wait.
    func machine<Result>(of name: OriginName, _ event: (inout ProbeMachine) -> Result) -> Result {
        change(name) { event(&$0.machine) }
    }

    /// `rest` gives the time that an origin's rest for an account still lasts.
    func pauseEnded(_ name: OriginName, rest: (Scope) -> Duration) -> ProbeMachine.PauseAction {
        change(name) { watched in
            let rests = Set(watched.waiting.values.map(\.scope)).map(rest)
            return watched.machine.pauseEnded(rest: rests.min() ?? .zero)
        }
    }

    /// Stops probing a removed origin; waits for it are not told any more.
    func forget(_ name: OriginName) {
        change(name) { watched in
            watched.isShut = false
            watched.machine.cameBack()
        }
    }
}

/// A wait or a wish of a client; it lasts until ``end()``, or until it is dropped.
final class Interest: Sendable {
    private let leave: Mutex<(@Sendable () -> Void)?>

    init(_ leave: @escaping @Sendable () -> Void) { self.leave = Mutex(leave) }

    deinit { end() }

    /// Ends the wait; a second call changes nothing.
    func end() { leave.withLock { $0.take() }?() }
}
