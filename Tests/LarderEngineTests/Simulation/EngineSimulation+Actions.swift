import LarderEngine
import LarderModel
import LarderStore
import LarderTestSupport
import LarderWire

import struct LarderAPI.CredentialCommand

/// What clients, the origin, other devices and time do.
extension EngineSimulation {
    /// Does one thing, and lets the daemon go on for a while, or until nothing is left to be done.
    func act() throws {
        drawUser()
        if joins, randomUnit(1, of: 3) { return try actOnJoined() }
        if renewsCredentials, isRefused, randomUnit(1, of: 2) { return try renewCredential() }
        if hasList { return try actOnList() }
        switch !ownInFront.isEmpty && randomUnit(1, of: 8) ? 89 : draw(0..<134) {
        case 0..<22: try accept()
        case 22..<54: answerSomething()
        case 54..<62:
            guard let path = pick(Self.paths) else { return }
            fetch(path, pick(FetchPolicy.allCases) ?? .cacheThenNetwork)
        case 62..<67: writeElsewhere()
        case 67..<76: decide()
        case 76..<79: setLane()
        case 79..<86: return try pass()
        case 86..<89: origin.isOffline.toggle()
        case 89..<92: evict()
        case 92..<97: return try crash()
        case 97..<100: return try reopen(losingCache: randomUnit(1, of: 2))
        case 100..<108: return try failDisk(actOnDisk)
        case 108..<116: return try failCommit(actOnBothFiles)
        case 116..<120: return try damageCache(actOnDisk)
        case 120..<124: try harmCache()
        default: setPin()
        }
        try goOn()
    }

    /// Lets the daemon go on for a while, or until nothing is left to be done.
    func goOn() throws {
        if window.inputs.count >= 3 || randomUnit(2, of: 3) { return try settle() }
        if try !pump(draw(0..<12)) { try settle() }
    }

    /// Does one thing that is written down.
    private func actOnDisk() throws {
        drawUser()
        switch draw(0..<12) {
        case 10, 11: setPin()
        case 0..<3: try accept()
        case 3..<7: answerSomething()
        case 7: decide()
        case 8: setLane()
        default:
            evict()
            fetch(pick(Self.paths) ?? "/a", .networkOnly)
        }
    }

    /// Does one thing that is written down in both files, if there is one to be done.
    private func actOnBothFiles() throws {
        guard let write = pick(answerable.filter { $0.kind == .write }), randomUnit(2, of: 3) else {
            return try actOnDisk()
        }
        answerWell(write)
    }

    // MARK: Clients

    func accept() throws {
        var new: [(ModifierCommand, PlainModifier)] = []
        for _ in 0..<(randomUnit(1, of: 5) ? draw(2..<4) : 1) {
            let (command, modifier) = try modifier("m\(plain.count + 1)")
            modifiers[modifier.id] = command
            plain[modifier.id] = modifier
            new.append((command, modifier))
        }
        accept(new)
    }

    func accept(_ new: [(ModifierCommand, PlainModifier)]) {
        let commands = new.map(\.0)
        let ready =
            commands.count == 1 ? ModifiersCommand(commands[0]) : ModifiersCommand(all: commands)
        let scope = scopeKey
        let call = daemon.call { engine in
            await Self.problem { () async throws(Problem) in
                _ = try await engine.modifiers.accept(ready, scope)
            }
        }
        put(.accepted(new.map(\.1)), call)
    }

    /// Has a write accepted whose request follows from its effect, or is a POST to its target.
    func write(
        _ path: String,
        _ effect: PlainEffect,
        _ terms: (inout ModifierCommand) throws -> Void = { _ in }
    ) throws {
        let change = ModifierCommand.Change(
            target: try Self.id(path),
            effect: effect.effect(of: nil)
        )
        let url = try WebURL("https://api.example.com" + path)
        let request = ModifierCommand.derivedRequest(for: [change])
        var command = ModifierCommand(
            changes: [change],
            request: request ?? ModifierCommand.Request(method: "POST", url: url)
        )
        let id = "m\(plain.count + 1)"
        command.id = try ModifierID(id)
        command.ifMatch = compares ? .auto : ModifierRules.MatchRule.none
        try terms(&command)
        let modifier = modifier(
            id,
            command,
            [PlainModifier.Change(path: path, effect: effect)],
            lanes: ["id:\(try Self.id(path).text)"]
        )
        (modifiers[id], plain[id]) = (command, modifier)
        accept([(command, modifier)])
    }

    static func problem(_ body: () async throws(Problem) -> Void) async -> Problem? {
        do throws(Problem) {
            try await body()
            return nil
        } catch {
            return error
        }
    }

    /// A write of targets that are drawn, or of one that is given.
    func modifier(
        _ id: String,
        on path: String? = nil
    ) throws -> (ModifierCommand, PlainModifier) {
        var paths = [path ?? pick(Self.paths) ?? "/a"]
        if randomUnit(1, of: 6), let other = pick(Self.paths), other != paths[0] {
            paths.append(other)
        }
        let changes = paths.map { PlainModifier.Change(path: $0, effect: effect()) }
        let known = try changes.map { change in
            ModifierCommand.Change(
                target: try target(change.path),
                effect: change.effect.effect(of: entity(change.path))
            )
        }
        let derived = randomUnit(3, of: 4) ? ModifierCommand.derivedRequest(for: known) : nil
        let post = ModifierCommand.Request(
            method: "POST",
            url: try WebURL(
                "https://api.example.com\(path == nil && randomUnit(1, of: 2) ? paths[0] : "/actions")"
            ),
            body: .bytes(Array("{}".utf8))
        )
        var command = ModifierCommand(changes: known, request: derived ?? post)
        command.id = try ModifierID(id)
        command.ifMatch = compares ? .auto : ModifierRules.MatchRule.none
        if compares, randomUnit(1, of: 2) {
            command.onConflict = pick([.rebase, .manual, .server, .client])
        }
        var lanes = Set(paths.map(PlainModifier.lane))
        try drawTerms(&command, &lanes)
        return (command, modifier(id, command, changes, lanes: lanes))
    }

    /// When a write is sent, and how often.
    func drawTerms(_ command: inout ModifierCommand, _ lanes: inout Set<String>) throws {
        if randomUnit(1, of: 5) {
            let name = randomUnit(1, of: 2) ? "x" : "y"
            command.lane = try LaneName(name)
            lanes.insert("name:\(name)")
        }
        if randomUnit(1, of: 5), let parent = pick(judge.queues.first?.unsettled ?? []) {
            command.dependsOn = [try ModifierID(parent.id)]
        }
        if randomUnit(1, of: 6) { command.hold = .seconds(draw(1..<30)) }
        if randomUnit(1, of: 6) { command.expires = .seconds(draw(5..<90)) }
        if randomUnit(1, of: 6) { command.attemptsMax = draw(1..<4) }
        if randomUnit(1, of: 6) { command.afterUnknown = pick([.auto, .resend, .hold]) }
    }

    func modifier(
        _ id: String,
        _ command: ModifierCommand,
        _ changes: [PlainModifier.Change],
        lanes: Set<String>
    ) -> PlainModifier {
        PlainModifier(
            id: id,
            user: user,
            changes: changes,
            method: command.request.method,
            lanes: lanes,
            dependsOn: command.dependsOn.map(\.text),
            attemptsMax: command.attemptsMax,
            unclear: unclear(command),
            isRepeatable: isRepeatable(command),
            onConflict: command.ifMatch == .auto ? command.onConflict?.plain ?? .person : nil,
            holdUntil: command.hold.map { now + $0 },
            expiresAt: command.expires.map { now + $0 }
        )
    }

    /// An entity by its key, or by its own URL.
    func target(_ path: String) throws -> EntryID {
        let isTemporary = PlainQueue.isTemporary(path)
        guard let entity = entity(path), isTemporary || randomUnit(1, of: 2) else {
            return try Self.id(path)
        }
        return try .entity("Doc:\(entity)")
    }

    /// Case 22.
    private func unclear(_ command: ModifierCommand) -> PlainModifier.Unclear {
        switch command.afterUnknown ?? .auto {
        case .resend: .resend
        case .hold: .hold
        case .auto: settings.modifiers.idempotency.isHonoured ? .resend : .auto
        }
    }

    private func isRepeatable(_ command: ModifierCommand) -> Bool {
        let isMerge = command.request.headers["Content-Type"] == MediaType.mergePatch
        return ["PUT", "DELETE"].contains(command.request.method) || isMerge
    }

    private func effect() -> PlainEffect {
        let name = pick(PlainValue.names) ?? "count"
        let member: PlainValue.Member =
            name == "tags" ? .list([draw(0..<4)]) : .number(draw(0..<9))
        switch draw(0..<10) {
        case 0, 1: return .put(value())
        case 2, 3: return .merge(name, !hasEntities && randomUnit(1, of: 5) ? nil : member)
        case 4: return .set(name, member)
        case 5: return .add("count", draw(1..<4))
        case 6: return .patch("liked", expected: draw(0..<2), draw(0..<2))
        case 7: return .listAdd("tags", [draw(0..<4), draw(0..<4)])
        case 8: return .delete
        default: return .none
        }
    }

    func fetch(_ path: String, _ policy: FetchPolicy) {
        guard let url = try? WebURL("https://api.example.com" + path) else { return }
        note("fetch \(path) \(policy.rawValue)\(hasUsers ? " of user \(user)" : "")")
        var command = FetchOrder(url: url)
        command.policy = policy
        let (ready, scope, loop, heard) = (command, scopeKey, daemon.loop, heard)
        let (since, user) = (judge.looks, user)
        let call = daemon.call { engine in
            await engine.fetch(
                ready,
                scope: scope,
                reader: loop.reader,
                cancellation: ClientCancellation(),
                emit: { frame in
                    heard.note(frame, of: path, user, since: since)
                    return true
                }
            )
        }
        fetches.append(call)
    }

    /// Somebody decides about a modifier by hand.
    func decide() {
        guard let modifier = pick(judge.queues.first?.modifiers ?? []) else { return }
        let isRetried = randomUnit(2, of: 5) && !(modifier.isDead && namesTemporary(modifier))
        decide(modifier, isRetried ? .retry : randomUnit(1, of: 2) ? .cancel : .discard)
    }

    enum Decision {
        case retry
        case cancel
        case discard
    }

    func decide(_ modifier: PlainModifier, _ decision: Decision) {
        user = modifier.user
        guard let id = try? ModifierID(modifier.id) else { return }
        let scope = scopeKey
        let call = daemon.call { engine in
            await Self.problem { () async throws(Problem) in
                switch decision {
                case .retry: _ = try await engine.modifiers.retry(id, scope)
                case .cancel: try await engine.modifiers.remove(id, scope, discarding: false)
                case .discard: try await engine.modifiers.remove(id, scope, discarding: true)
                }
            }
        }
        switch decision {
        case .retry: put(.retried(modifier.id), call)
        case .cancel: put(.removed(modifier.id, isDiscarded: false), call)
        case .discard: put(.removed(modifier.id, isDiscarded: true), call)
        }
    }

    /// Whether a credential was refused, and no answer to an earlier one is to come.
    private var isRefused: Bool {
        let queue = judge.queues.first
        return queue?.unsettled.contains { $0.standing == .authWait } == true
            && !origin.waiting.contains { $0.kind == .write }
    }

    /// The user gives another credential, which the origin may refuse, too.
    func renewCredential() throws {
        let scope = scopeKey
        let name = settings.name
        let call = daemon.call { engine in
            await Self.problem { () async throws(Problem) in
                let command = CredentialCommand(value: "Bearer new")
                _ = try await engine.credentials.set(command, at: name, scope)
            }
        }
        put(.credentialSet, call)
        try settle()
    }

    func setLane() {
        let names = ["name:x", "name:y", "id:https://api.example.com/a"]
        guard let name = pick(names) else { return }
        setLane(name, isPaused: randomUnit(1, of: 2))
    }

    func setLane(_ name: String, isPaused: Bool) {
        let text = hasEntities ? Self.entityLane(name) : name
        guard let lane = try? Lane(given: text) else { return }
        let scope = scopeKey
        let call = daemon.call { engine in
            await Self.problem { () async throws(Problem) in
                try await engine.modifiers.setLane(lane, scope, isPaused: isPaused)
            }
        }
        put(.laneSet(name, isPaused: isPaused), call)
    }

    /// A lane as that of an entity is named.
    private static func entityLane(_ name: String) -> String {
        name.hasPrefix("id:") ? "id:entity:example/Doc:\(name.suffix(1))" : name
    }

    private func setPin() {
        guard !hasEntities, let path = pick(Self.paths) else { return }
        setPin(path)
    }

    func setPin(_ path: String) {
        guard let id = try? Self.id(path) else { return }
        let isPinned = judge.queues.first?.pinned.contains(path) == true
        let isToBe = randomUnit(1, of: 6) ? isPinned : !isPinned
        let scope = scopeKey
        let call = daemon.call { engine in
            await Self.problem { () async throws(Problem) in
                if isToBe {
                    _ = try await engine.pins.pin(id, scope)
                } else {
                    _ = try await engine.pins.unpin(id, scope)
                }
            }
        }
        put(isToBe ? .pinned(path) : .unpinned(path), call)
    }

    private func evict() {
        let front = ownInFront
        let isOfFront = !front.isEmpty && randomUnit(2, of: 3)
        guard let path = pick(isOfFront ? front : Self.paths), let id = try? Self.id(path) else {
            return
        }
        // An operator may evict what is everybody's.
        let isOfShared = isShared && !isOfFront && randomUnit(1, of: 2)
        let scope = isOfShared ? daemon.store.key(for: .shared) : scopeKey
        put(.mayBeLost(path, isShared: isOfShared), evict(id, scope))
    }

    func evict(_ id: EntryID, _ scope: ScopeKey) -> ClientCall<Problem?> {
        daemon.call { engine in
            await Self.problem { () async throws(Problem) in
                _ = try await engine.eviction.evict(EvictOrder(.ids([id])), .one(scope))
            }
        }
    }

    /// The user's own rows in front of older shared ones, which only a mark hides once they are evicted.
    private var ownInFront: [String] {
        guard isShared else { return [] }
        return Self.paths.filter { path in
            judge.queues.contains { queue in
                queue.rows.hasOwn(path) && queue.rows.behind[path] == nil
                    && !queue.isTargeted(path) && !queue.pinned.contains(path)
            }
        }
    }

    // MARK: Others

    func writeElsewhere() {
        if randomUnit(1, of: 3), origin.server.keepPromise() { return note("a promise is kept") }
        guard let path = pick(Self.paths) else { return }
        let new = randomUnit(1, of: 5) ? nil : value()
        note("another device writes \(path) \(new.map(\.description) ?? "away")")
        origin.server.write(path, new)
    }

    /// How long until something is due, in whole milliseconds, as moments are kept in the files.
    var untilDue: Duration {
        .milliseconds(clock.nextDue.map { Int(($0 - now) / .milliseconds(1)) + 1 } ?? 1)
    }

    /// Time passes.
    func pass() throws {
        try settle()
        let time = randomUnit(1, of: 2) ? untilDue : .milliseconds(draw(1..<40_000))
        note("\(time) pass")
        clock.advance(by: time)
        try settle()
    }
}

extension ModifierRules.ConflictRule {
    /// The rule's decision before a round.
    fileprivate var plain: PlainModifier.OnConflict {
        switch self {
        case .rebase, .manual: .person
        case .server: .server
        case .client: .client
        }
    }
}
