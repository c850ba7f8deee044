import LarderModel
import LarderTestSupport
import LarderWire

/// Holds what one of the crowd was told against what was done.
///
/// Live, each event of an id is told once, and puts of it that follow each other may be told as
/// one. Who comes back hears of answers by the references of then: not of a change by an entity
/// that they do not show any more, where they have changed again since, and maybe of one that was
/// none to them.
struct CrowdJudge {
    private let listener: CrowdListener
    private let history: CrowdHistory
    private let covered: Set<EntryID>
    private let kinds: Set<WatchKind>
    /// How many events of an id were told or passed over.
    private var places: [EntryID: Int] = [:]
    private(set) var complaints: [String] = []

    /// An event as it was told.
    private struct Told {
        let kind: WatchKind
        let id: EntryID
        let revision: Revision
        var changed: [EntityKey] = []
        var coalesced = 1
        let hasMore: Bool

        init?(_ frame: WatchFrame) {
            switch frame {
            case .put(let event), .delete(let event):
                if case .put = frame { kind = .put } else { kind = .delete }
                guard let id = try? event.entryID else { return nil }
                (self.id, revision, hasMore) = (id, Revision(event.rev), event.more == true)
                changed = (event.changed ?? []).compactMap {
                    (try? EntryID(given: $0))?.entity?.key
                }
                coalesced = event.coalesced ?? 1
            case .evict(let event):
                kind = .evict
                guard let id = try? EntryID(given: event.id) else { return nil }
                (self.id, revision, hasMore) = (id, Revision(event.rev), event.more == true)
            case .modifier, .remapped, .origin, .auth, .prefetch, .bookmark, .lagged, .heartbeat,
                .end,
                .other:
                return nil
            }
        }
    }

    init(_ listener: CrowdListener, _ history: CrowdHistory) {
        self.listener = listener
        self.history = history
        let cancellation = listener.cancellation
        covered = cancellation.covered(in: history)
        kinds = Set(cancellation.kinds.isEmpty ? [.put, .delete, .evict] : cancellation.kinds)
        for part in listener.parts { judge(part) }
        for id in covered {
            let left = events(of: id).dropFirst(places[id] ?? 0).filter { $0.isDue }
            if let first = left.first {
                complain("\(id): \(left.count) events are not told, the first of them \(first)")
            }
        }
    }

    private mutating func complain(_ what: String) {
        complaints.append("watcher \(listener.number): \(what)")
    }

    private func events(of id: EntryID) -> [CrowdEvent] {
        (history.events[id] ?? []).filter { kinds.contains($0.kind) }
    }

    private mutating func judge(_ part: CrowdListener.Part) {
        let end = part.frames.firstIndex { if case .bookmark = $0 { true } else { false } }
        let replayed = part.since.map { since in
            end.flatMap { part.frames[$0].resumption } ?? part.frames.last?.resumption ?? since
        }
        var last = part.since ?? Revision(0)
        var step: Revision?
        for (index, frame) in part.frames.enumerated() {
            guard let told = Told(frame) else {
                if step != nil { complain("\(frame) comes within a step") }
                continue
            }
            if told.revision < last || told.revision == part.since {
                complain("\(frame) comes after revision \(last.number)")
            }
            if let step, step != told.revision { complain("\(frame) comes within step \(step)") }
            if step == nil, told.revision == last { complain("\(frame) comes after its step") }
            step = told.hasMore ? told.revision : nil
            last = told.revision
            guard covered.contains(told.id), kinds.contains(told.kind) else {
                complain("\(frame) is told, which it does not watch")
                continue
            }
            let isReplay = part.since != nil && end.map { index < $0 } ?? true
            take(told, isReplay: isReplay, replayed: replayed)
        }
    }

    /// Takes the events out that one frame stands for.
    private mutating func take(_ told: Told, isReplay: Bool, replayed: Revision?) {
        let events = events(of: told.id)
        let first = places[told.id] ?? 0
        let isKnown = events.contains { $0.revision == told.revision }
        // One of an entity that the answer did not show then.
        if !isKnown, isReplay, told.kind == .put, history.entitySteps.contains(told.revision) {
            return
        }
        // Those before it that it stands for too, surely and maybe.
        var (sure, maybe) = (0, 0)
        for place in first..<max(first, events.count) {
            let event = events[place]
            let isIt =
                event.revision.map { $0 == told.revision }
                ?? (event.kind == told.kind && !isKnown)
            if isIt, event.kind == told.kind, event.ground != .equal || isReplay,
                (sure + 1...sure + 1 + maybe).contains(told.coalesced)
            {
                places[told.id] = place + 1
                let names = Set(told.changed)
                let isRight =
                    told.coalesced == 1
                    ? names == event.changed : names.isSuperset(of: event.changed)
                if !isReplay, !isRight {
                    complain("\(told) does not name \(event.changed)")
                }
                return
            }
            switch event.ground {
            case .equal: continue
            case .shown where replayed.map { event.revision ?? $0 <= $0 } ?? false: maybe += 1
            case .shown, .row:
                // A put may stand for those before it.
                sure += event.kind == told.kind && told.kind == .put ? 1 : told.coalesced
            }
        }
        complain("\(told) is told in place of \(Array(events.dropFirst(first).prefix(2)))")
    }
}
