import LarderAPI
import LarderModel
import LarderNormalize
import LarderStore
import LarderTestSupport
import LarderWire

@testable import LarderEngine

/// What the daemon shows.
extension EngineSimulation {
    var scopeKey: ScopeKey { daemon.store.key(for: scopes[user]) }

    static func id(_ path: String) throws -> EntryID {
        try EntryID("https://api.example.com" + path)
    }

    /// Everything that can be seen from outside, as clients see it.
    func sight() throws -> SimulationJudge.Sight {
        var sight = SimulationJudge.Sight()
        for path in paths {
            // What the store finds wrong meanwhile it does something about before anything else.
            let hasURL = !PlainQueue.isTemporary(path)
            let shown = daemon.store.alone {
                Result(catching: { (hasURL ? try self.shown(path) : nil, try shownByKey(path)) })
            }
            let (atURL, byKey) = try shown.get()
            sight.shown[path] = byKey ?? atURL
            if byKey != nil { sight.atURLs[path] = atURL }
        }
        sight.pins = try pins()
        sight.told = try list(nil).map { report in
            SimulationJudge.Told(
                id: report.id,
                state: report.marks.contains(.answered) ? "answered" : report.state.rawValue,
                reason: report.state == .failed ? report.reason?.rawValue : nil,
                attempts: report.attempts,
                key: report.request.idempotencyKey,
                joinedInto: report.joinedInto
            )
        }
        for report in try list(.settled).reversed() {
            // One that was dropped may have been settled before.
            sight.outcomes[report.id] = report.state.rawValue
            sight.joinedInto[report.id] = report.joinedInto
        }
        return sight
    }

    private func list(_ selection: ModifierListCommand.Selection?) throws -> [ModifierReport] {
        var command = ModifierListCommand()
        command.selection = selection
        command.limit = Limits.pageRowsMax
        let (ready, scope) = (command, scopeKey)
        return try answer { engine throws(Problem) in
            try await engine.modifiers.list(ready, .one(scope)).items
        }
    }

    private func pins() throws -> [String: String] {
        let scope = scopeKey
        let items = try answer { engine throws(Problem) in
            try await engine.pins.list(PageQuery(), scope).items
        }
        var states: [String: String] = [:]
        for path in readable {
            let id = try Self.id(path)
            guard let item = items.first(where: { $0.id == id.text }) else { continue }
            switch item.state {
            case .held: states[path] = "held"
            case .gone: states[path] = "gone"
            case .tooLarge: states[path] = "too large"
            case _: states[path] = "without bytes"
            }
        }
        return states
    }

    /// What the daemon answers at once.
    private func answer<Value: Sendable>(
        _ question: @escaping @Sendable (Engine) async throws(Problem) -> Value
    ) throws -> Value {
        let call = daemon.call { engine -> Result<Value, Problem> in
            do throws(Problem) {
                return .success(try await question(engine))
            } catch {
                return .failure(error)
            }
        }
        while daemon.step(&random), call.answer == nil {}
        guard let answer = call.answer else {
            throw SimulationJudge.Complaint(text: "what there is, is never told")
        }
        return try answer.get()
    }

    /// As `GET /v1/entries/{id}` tells it, with `show=base` beside it.
    private func shown(_ path: String) throws -> PlainQueue.Shown {
        let (id, reader) = (try Self.id(path), daemon.loop.reader)
        let now = clock.now()
        defer { reader.endTransaction() }
        let base = try base(id, reader, now)
        let isList = path == PlainQueue.list
        let read = try daemon.engine.view(of: id, for: scopeKey, reader, now: now) { row, _ in
            row.entry()?.revision ?? Revision(0)
        }
        guard let found = read else { return PlainQueue.Shown(base, .unknown, nil) }
        let overlay = found.overlay
        switch found.content {
        case .row(let revision):
            try checkRevision(path, revision, base.view)
            return PlainQueue.Shown(base, base.view, overlay, isList: isList)
        case .deleted(let entry):
            try checkRevision(path, entry.revision, .deleted)
            return PlainQueue.Shown(base, .deleted, overlay, isList: isList)
        case .made(let entry, let bytes):
            guard let value = PlainValue(parsing: bytes) else {
                throw SimulationJudge.Complaint(text: "\(path) shows \(bytes.count) odd bytes")
            }
            let view = PlainView.value(value, isComplete: overlay.isComplete)
            try checkRevision(path, entry.revision, view)
            return PlainQueue.Shown(base, view, overlay, isList: isList)
        }
    }

    /// As `GET /v1/entries/{id}` tells it; nil for what is no entity.
    private func shownByKey(_ path: String) throws -> PlainQueue.Shown? {
        guard let entity = entity(path) else { return nil }
        let name = EntityName(try EntityKey("Doc:\(entity)"), of: settings.name)
        let (reader, now) = (daemon.loop.reader, clock.now())
        var look = EntryReader(
            context: daemon.engine.context,
            scope: scopeKey,
            reader: reader,
            now: now
        )
        defer { reader.endTransaction() }
        func view(_ form: ShownView) throws -> (EntryView<Void>?, PlainView) {
            look.form = form
            let found: EntryView<Void>? = try look.view(of: EntryID(name)) { _, _ in }
            switch found?.content {
            case .row?, nil: return (nil, .unknown)
            case .deleted: return (found, .deleted)
            case .made(_, let bytes):
                guard let value = PlainValue(parsing: bytes) else {
                    throw SimulationJudge.Complaint(text: "\(name) has \(bytes.count) odd bytes")
                }
                return (found, .value(value, isComplete: found?.overlay.isComplete ?? true))
            }
        }
        let (_, base) = try view(.base)
        let (found, shown) = try view(.view)
        return PlainQueue.Shown(PlainQueue.Base(base), shown, found?.overlay)
    }

    private func base(
        _ id: EntryID,
        _ reader: StoreReader,
        _ now: Timestamp
    ) throws -> PlainQueue.Base {
        let read = try daemon.engine.view(of: id, for: scopeKey, reader, now: now, as: .base) {
            row,
            _ in
            row.withBody { Array($0) }
        }
        guard let found = read else { return .unknown }
        switch found.content {
        case .deleted: return .deleted
        case .row(let bytes), .made(_, let bytes):
            guard let value = PlainValue(parsing: bytes) else {
                let text = "\(id) has \(bytes.count) odd bytes as its base"
                throw SimulationJudge.Complaint(text: text)
            }
            return found.overlay.isComplete ? .value(value) : .part(value)
        }
    }
}

extension PlainQueue.Shown {
    fileprivate init(
        _ base: PlainQueue.Base,
        _ view: PlainView,
        _ overlay: Overlay?,
        isList: Bool = false
    ) {
        let isMiss = view == .unknown
        let pending = overlay?.pending.map(\.text) ?? []
        self.init(
            base: base,
            view: view,
            // The engine tells the writes on a list first, and then the writes on its entities.
            pending: isMiss ? nil : isList ? pending.sorted() : pending,
            failed: isMiss ? 0 : overlay?.failed ?? 0
        )
    }
}
