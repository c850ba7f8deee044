import LarderAPI
import LarderJSON
import LarderModel
import LarderStore
import LarderTestSupport
import LarderWire
import Synchronization

@testable import LarderEngine

/// Two users of a ``SharedListServer``, over the lives of one daemon.
///
/// A paused lane keeps the writes. Then they are sent while each read fails, so that confirmed
/// writes show over the old row. At the end the list is read.
final class SharedListLives {
    struct Complaint: Error, CustomStringConvertible {
        let description: String
    }

    /// An action that is taken again after a start if the daemon was killed meanwhile.
    private enum Step {
        case accept(PlainSharedList.Write)
        case cancel(PlainSharedList.Write)
        case read(user: Int)
        /// An operator evicts the shared row.
        case evict
    }

    private let server: SharedListServer
    private let setup: EngineSetup
    private let scopes: [Scope]
    private let clock = ManualClock()
    private let list: EntryID
    private var random: SeededRandom
    private var model: PlainSharedList
    private var left: TemporaryStore?
    private var unheard: Step?
    /// Whether the list may be lost, as nothing keeps it.
    private var isBaseUnsure = false
    private var created: [(user: Int, name: String, id: String)] = []
    /// The last revision of the list that each user has seen.
    private var revisions: [Int64] = [0, 0]
    private var count = 0
    private var log: [String] = []
    /// After so many rounds without an end, the writes never end.
    private static let roundsMax = 3_000

    init(seed: UInt64, without rule: SharedListRule? = nil) throws {
        let server = SharedListServer(seed: ~seed)
        var setup = try EngineSetup.with { setup in
            setup.origin.isShared = true
            setup.origin.normalize = NormalizeRules(
                byType: .standard,
                types: [TypeRule(type: "Todo", url: "/todos/{id}")]
            )
            setup.origin.modifiers.createdID = "/id"
            setup.origin.modifiers.idempotency.isHonoured = true
            setup.origin.modifiers.ifMatch = .none
            guard seed % 4 < 2 else { return }
            setup.origin.modifiers.empty = [EmptyForm(path: "/todos", form: #"{"items":[]}"#)]
        }
        setup.store.faults = server.plan
        let other: Scope =
            seed % 2 == 0
            ? .own(uid: 2_000, account: .default)
            : .own(uid: 1_000, account: try AccountName("work"))
        (self.server, self.setup, scopes) = (server, setup, [EngineFixture.scope, other])
        list = try EntryID("https://api.example.com/todos")
        (random, model) = (SeededRandom(seed: seed), PlainSharedList(without: rule))
    }

    func live() async throws {
        try await life { try await begin($0) }
        for _ in 0..<2 {
            for _ in 0..<2 { try await life { try await act($0) } }
            let isKilled = random.next() % 2 == 0
            var isSent = false
            while !isSent { try await life { isSent = try await send($0, isKilled: isKilled) } }
            try await life { try await end($0) }
            try await life { try await begin($0) }
        }
    }

    /// From a start of the daemon to its end, or until it is killed; `cache.db` may be lost before.
    private func life(_ body: (EngineFixture) async throws -> Void) async throws {
        if let left {
            let copy = try server.plan.takeCopy()
            if let copy { try left.open(copy) } else { try left.open() }
            if random.next() % 3 == 0 {
                log.append("cache.db is lost")
                try left.loseCache()
                noteLoss()
            }
        }
        try await EngineFixture.run(setup, on: left, at: clock) { fixture in
            left = fixture.temporary
            fixture.upstream.answerOthers { [server] in server.answer($0) }
            if let step = unheard {
                unheard = nil
                try await perform(step, fixture)
                try await note(step, fixture)
            }
            try await body(fixture)
        }
    }

    // MARK: While writes are kept

    private func act(_ fixture: EngineFixture) async throws {
        try await look(fixture)
        for _ in 0..<8 {
            count += 1
            let user = random.pick([0, 0, 0, 1])
            switch random.next() % 18 {
            case 0..<8: try await take(.accept(draw(user)), fixture)
            case 8, 9: server.change("device \(count)")
            case 10, 11: try await take(.read(user: 1 - user), fixture)
            case 12, 13:
                let own = model.writes(of: user)
                if !own.isEmpty { try await take(.cancel(random.pick(own)), fixture) }
            case 14, 15: try await setPin(user, fixture)
            case 16: try await take(.evict, fixture)
            default: try await fixture.engine.store.maintain()
            }
            guard !server.plan.hasCopied else { return }
            try await look(fixture)
        }
    }

    /// Takes a step, during which the daemon may be killed.
    private func take(_ step: Step, _ fixture: EngineFixture) async throws {
        log.append("\(step)")
        if random.next() % 6 == 0 { armKill(within: 3, fixture) }
        try await perform(step, fixture)
        guard !server.plan.hasCopied else {
            log.append("  meanwhile the daemon is killed")
            unheard = step
            return
        }
        server.plan.disarm()
        try await note(step, fixture)
    }

    private func armKill(within commits: UInt64, _ fixture: EngineFixture) {
        let step = random.pick([DiskPlan.Step.stateCommit, .cacheCommit])
        let n = Int(1 + random.next() % commits)
        server.plan.armCrash(n, of: step, in: fixture.temporary.directory)
    }

    private func perform(_ step: Step, _ fixture: EngineFixture) async throws {
        switch step {
        case .accept(let write): try await accept(write, fixture)
        case .cancel(let write):
            // After a kill it may be cancelled already.
            let key = fixture.key(scopes[write.user])
            _ = try? await fixture.engine.modifiers.remove(write.id, key, discarding: false)
        case .read(let user):
            let url = try fixture.url("/todos")
            let result = try await fixture.fetch(url, .networkOnly, as: scopes[user])
            guard !server.plan.hasCopied else { return }
            if let problem = result.refusal { throw complaint("a read fails: \(problem)") }
            if let shown = result.lastShown { try check(shown, user) }
        case .evict:
            let shared = fixture.key(.shared)
            _ = try await fixture.engine.eviction.evict(EvictOrder(.ids([list])), .one(shared))
        }
    }

    /// Tells the model of a step.
    private func note(_ step: Step, _ fixture: EngineFixture) async throws {
        switch step {
        case .accept(let write): model.accept(write)
        case .cancel(let write):
            let report = try await update(fixture).first { $0.id == write.id.text }
            guard report?.state == .cancelled else { throw complaint("not cancelled: \(write)") }
        case .read:
            model.read(server.list)
            isBaseUnsure = false
        case .evict: noteLoss()
        }
    }

    private func noteLoss() {
        if !model.holds(.targetIsKept) {
            model.base = nil
        } else if !model.isKept {
            isBaseUnsure = true
        }
    }

    /// A write of a user; its id, its text and its temporary id say whose it is.
    private func draw(_ user: Int) throws -> PlainSharedList.Write {
        let id = try ModifierID("u\(user)-\(count)")
        var name = "tmp:0000000\(user)-0000-4000-8000-\(UInt64(1e11) + UInt64(count))"
        var item = PlainSharedList.Item(id: name, text: "u\(user) \(count)")
        var kind = PlainSharedList.Kind.add
        // The items that the user sees, and items that the user's writes have taken away.
        let known = (model.view(of: user)?.items ?? []) + (model.base?.items ?? [])
        if random.next() % 3 > 0, !known.isEmpty {
            item.id = random.pick(known).id
            let earlier = created.first { $0.user == user && $0.id == item.id }?.name
            name = random.pick([earlier ?? item.id, item.id])
            let kinds: [PlainSharedList.Kind] = [.title, .delete, .remove, .edit, .edit]
            kind = random.pick(kinds)
            if kind == .remove, item.id.hasPrefix("tmp:") { kind = .delete }
        }
        return PlainSharedList.Write(id: id, user: user, kind: kind, name: name, item: item)
    }

    private func accept(_ write: PlainSharedList.Write, _ fixture: EngineFixture) async throws {
        let item = write.item
        let target: EntryID = try write.isOfList ? list : .entity("Todo:\(write.name)")
        let effect: String
        var post: (path: String, body: String)?
        switch write.kind {
        case .title: effect = #"{"type":"merge","value":{"title":"\#(item.text)"}}"#
        case .add:
            effect = #"{"type":"list_add","value":{"/items":[\#(item.json)]}}"#
            post = (path: "/todos", body: #"{"text":"\#(item.text)"}"#)
        case .remove:
            let object = #"{"type":"Todo","id":\#(item.id)}"#
            effect = #"{"type":"list_remove","value":{"/items":[\#(object)]}}"#
            post = (path: "/todos/remove", body: #"{"id":\#(item.id)}"#)
        case .edit: effect = #"{"type":"merge","value":{"text":"\#(item.text)"}}"#
        case .delete: effect = #"{"type":"delete"}"#
        }
        let (request, lane) = (post, try LaneName("phone"))
        try await fixture.write(
            target,
            .json(effect),
            request == nil ? nil : "POST",
            to: request.map { try fixture.url($0.path) },
            id: write.id.text,
            as: scopes[write.user]
        ) { command in
            command.lane = lane
            guard let request else { return }
            command.request.headers.append("Content-Type", "application/json")
            command.request.body = .bytes(Array(request.body.utf8))
        }
    }

    private func setPin(_ user: Int, _ fixture: EngineFixture) async throws {
        let key = fixture.key(scopes[user])
        if model.pinned.remove(user) != nil {
            _ = try await fixture.engine.pins.unpin(list, key)
        } else if model.base != nil {
            _ = try await fixture.engine.pins.pin(list, key)
            model.pinned.insert(user)
        }
    }

    // MARK: The end of the writes

    /// The reports of the writes, none once the daemon counts as killed.
    ///
    /// Writes that have ended without being applied leave the model.
    private func update(_ fixture: EngineFixture) async throws -> [ModifierReport] {
        let writes = model.writes
        var reports: [ModifierReport] = []
        for write in writes {
            let key = fixture.key(scopes[write.user])
            reports.append(try await fixture.engine.modifiers.modifier(write.id, key))
        }
        guard !server.plan.hasCopied else { return [] }
        for (write, report) in zip(writes, reports) {
            if report.state == .failed {
                model.refuse(write.id)
            } else if report.state == .cancelled {
                model.cancel(write.id)
            } else if report.isDone, write.kind == .add, write.item.id == write.name,
                let id = server.state.withLock({ $0.ids[write.item.text] })
            {
                if !created.contains(where: { $0.name == write.name }) {
                    created.append((user: write.user, name: write.name, id: id))
                }
                model.rename(write.name, to: id)
            }
        }
        return reports
    }

    /// Sends the writes while no read is answered; false if the daemon is killed.
    private func send(_ fixture: EngineFixture, isKilled: Bool) async throws -> Bool {
        log.append("the writes are sent")
        // A repeat that is refused would wait for a person.
        server.state.withLock { ($0.refuses, $0.answersReads) = (!isKilled, false) }
        if isKilled { armKill(within: 30, fixture) }
        try await setLanes(isPaused: false, fixture)
        for _ in 0..<Self.roundsMax {
            let isOver = try await update(fixture).allSatisfy { $0.isDone || $0.state == .accepted }
            guard !server.plan.hasCopied else { return false }
            try await glance(fixture)
            guard isOver else {
                await pass(fixture)
                continue
            }
            server.plan.disarm()
            if !model.holds(.answeredShows) { model.end() }
            try await look(fixture)
            return true
        }
        throw complaint("these are never answered: \(model.writes)")
    }

    /// Has the list read until each confirmed write has left the queue.
    private func end(_ fixture: EngineFixture) async throws {
        try await look(fixture)
        log.append("reads are answered")
        server.state.withLock { $0.answersReads = true }
        for round in 0..<Self.roundsMax {
            // No read follows a 202 by itself.
            if round % 20 == 0 {
                _ = fixture.start(try fixture.url("/todos"), .networkOnly, as: scopes[1])
            }
            guard try await !update(fixture).allSatisfy(\.state.isSettled) else {
                return model.end()
            }
            try await glance(fixture)
            await pass(fixture)
        }
        throw complaint("these never end: \(model.writes)")
    }

    /// Has all be read, compares it with the server, and has the next writes wait.
    private func begin(_ fixture: EngineFixture) async throws {
        var roundsLeft = Self.roundsMax
        while try await !fixture.engine.store.modifiers.wantedReads().isEmpty {
            roundsLeft -= 1
            guard roundsLeft > 0 else { throw complaint("the reads after writes never end") }
            await pass(fixture)
        }
        try await setLanes(isPaused: true, fixture)
        for user in scopes.indices { try await perform(.read(user: user), fixture) }
        try await note(.read(user: 1), fixture)
        try await look(fixture)
        for (user, name, id) in created {
            guard let item = server.list.items.first(where: { $0.id == id }) else { continue }
            let text = try await entity(name, user, fixture)
            let shown = text.flatMap { try? JSONValue(parsing: Array($0.utf8)) }
            guard shown.flatMap({ PlainSharedList.Item($0) }) != item else { continue }
            throw complaint("\(name) is \(text ?? "nothing"), not \(item)")
        }
    }

    private func setLanes(isPaused: Bool, _ fixture: EngineFixture) async throws {
        let lane = Lane.name(try LaneName("phone"))
        for scope in scopes {
            try await fixture.engine.modifiers.setLane(lane, fixture.key(scope), isPaused: isPaused)
        }
    }

    private func pass(_ fixture: EngineFixture) async {
        fixture.clock.advance(by: .seconds(5))
        for _ in 0..<100 { await Task.yield() }
    }

    // MARK: The judge

    /// Compares what each user sees with the model.
    private func look(_ fixture: EngineFixture) async throws {
        if isBaseUnsure {
            isBaseUnsure = false
            if try await base(fixture) == nil { model.base = nil }
        }
        for (user, scope) in scopes.enumerated() {
            let shown = try await fixture.cached(fixture.url("/todos"), as: scope).lastShown
            if let shown { try check(shown, user) }
            let (seen, expected) = (shown.map(\.text), model.view(of: user))
            // Writes show something on a list of which nothing is known.
            let isMade = model.base == nil && model.writes(of: user).contains(where: \.isOfList)
            let isSame = seen.flatMap { PlainSharedList.Document($0) } == expected
            guard isMade || isSame && (seen == nil) == (expected == nil) else {
                let text = expected?.json ?? "nothing"
                throw complaint("user \(user) sees \(seen ?? "nothing"), not \(text)")
            }
            let pins = try await fixture.engine.pins.list(PageQuery(), fixture.key(scope)).items
            guard pins.map(\.id) == (model.pinned.contains(user) ? [list.text] : []) else {
                throw complaint("the pins of user \(user) are \(pins)")
            }
            for write in model.writes where write.user != user && write.name.hasPrefix("tmp:") {
                guard let text = try await entity(write.name, user, fixture) else { continue }
                throw complaint("user \(user) sees the other one's \(write.name): \(text)")
            }
        }
    }

    /// Checks what each user sees in the middle of something.
    private func glance(_ fixture: EngineFixture) async throws {
        for (user, scope) in scopes.enumerated() {
            let shown = try await fixture.cached(fixture.url("/todos"), as: scope).lastShown
            guard !server.plan.hasCopied else { return }
            if let shown { try check(shown, user) }
        }
    }

    /// Checks that a user sees nothing that only a write of the other one says, and nothing older
    /// than before.
    private func check(_ shown: SnapshotFrame, _ user: Int) throws {
        var ids = shown.pendingIDs + (shown.failedRows ?? []).map(\.modifier)
        for row in shown.rows ?? [] { ids += row.pending + row.failed }
        let said = server.state.withLock { $0.said }
        let texts = PlainSharedList.Document(shown.text)?.texts ?? []
        let isMarked = ids.contains { !$0.hasPrefix("u\(user)-") }
        let isUnsaid = texts.contains { !said.contains($0) && !$0.hasPrefix("u\(user) ") }
        let isNamed = shown.text.contains("tmp:0000000\(1 - user)")
        guard !isMarked, !isUnsaid, !isNamed, shown.rev >= revisions[user] else {
            throw complaint("user \(user) sees \(shown), and has seen \(revisions[user])")
        }
        revisions[user] = shown.rev
    }

    /// The list as the server said it last; nil where nothing is known of it.
    private func base(_ fixture: EngineFixture) async throws -> String? {
        let (engine, key) = (fixture.engine, fixture.key(scopes[0]))
        let (id, now) = (list, fixture.clock.now())
        return try await engine.store.read { reader throws(StoreError) in
            try engine.text(of: id, key, reader, now: now, as: .base)
        }
    }

    /// A to-do by a name that a client gives to it; nil for a miss.
    private func entity(
        _ name: String,
        _ user: Int,
        _ fixture: EngineFixture
    ) async throws -> String? {
        try await fixture.read(.example("Todo:\(name)"), fixture.key(scopes[user]))?.made?.text
    }

    private func complaint(_ text: String) -> Complaint {
        let lines = ["\(text), after"] + log.suffix(14)
        return Complaint(description: lines.joined(separator: "\n"))
    }
}
