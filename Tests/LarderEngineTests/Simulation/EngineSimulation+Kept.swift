import LarderEngine
import LarderModel
import LarderStore
import LarderTestSupport
import LarderWire

/// What an event loop keeps ready, which counts at every moment or not at all.
extension EngineSimulation {
    /// What a read shows, with all that is said of it.
    struct Kept: Equatable {
        enum Content: Equatable {
            case row
            case made
            case deleted
        }

        let content: Content
        let entry: Entry?
        var bytes: [UInt8] = []
        var overlay = Overlay.none
        var source = AnswerSource.cache

        init(_ row: borrowing EntryRow, _ overlay: Overlay = .none) {
            content = .row
            entry = row.entry()
            bytes = row.withBody { Array($0) }
            self.overlay = overlay
        }

        init(_ view: EntryView<Kept>) {
            switch view.content {
            case .row(let row):
                self = row
            case .made(let entry, let bytes):
                (content, self.entry, self.bytes) = (.made, entry, bytes)
            case .deleted(let entry):
                (content, self.entry) = (.deleted, entry)
            }
            (overlay, source) = (view.overlay, view.source)
        }
    }

    /// Checks what was kept of one URL, another one at each step; where nothing is, it is read to be
    /// kept.
    ///
    /// Nothing is checked while the simulation harms the files: a read would find the damage itself.
    /// Reads of every URL after each commit would take a third of the time of a life.
    func checkKept() throws {
        guard harmedGeneration == nil, !isCacheBroken, !plan.isArmed else { return }
        let paths = readable
        user = keptTurn / paths.count % judges.count
        let path = paths[keptTurn % paths.count]
        let key = "\(user)\(path)"
        let mayKeep = keptTurn / (paths.count * judges.count) % Self.keptRounds == 0
        keptTurn += 1
        guard mayKeep || kept.keys.contains(key) else { return }
        let (engine, reader) = (daemon.engine, daemon.loop.reader)
        let result = daemon.store.alone {
            Result {
                defer { reader.endTransaction() }
                try kept.check(
                    key,
                    counts: { engine.stillShows($0, reader) },
                    read: { now in try? read(path, now) }
                )
                guard mayKeep, !kept.keys.contains(key) else { return }
                let now = clock.now()
                let (shown, stamp) = reader.stamping { try? read(path, now) }
                if let shown { kept.keep(key, (shown, stamp), now: now) }
            }
        }
        try result.get()
    }

    /// In one of so many rounds over all users and URLs, what is not kept is read.
    private static let keptRounds = 4

    /// Reads as `GET /v1/entries/{id}` does; an inner nil is a miss.
    private func read(_ path: String, _ now: Timestamp) throws -> Kept?? {
        let (id, engine, reader) = (try Self.id(path), daemon.engine, daemon.loop.reader)
        var shown: Kept?
        let isPlain = engine.fastPathRow(of: id, for: scopeKey, reader, now: now) {
            shown = Kept($0)
        }
        if isPlain { return shown }
        let view = try engine.view(of: id, for: scopeKey, reader, now: now) { row, overlay in
            Kept(row, overlay)
        }
        return .some(view.map { Kept($0) })
    }
}
