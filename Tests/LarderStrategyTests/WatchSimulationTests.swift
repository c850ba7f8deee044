import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStrategy

/// P-12: a watcher that comes, reads slowly, goes and comes back with `since`, against a plain list
/// of everything that ever happened.
@Suite("A watcher and everything that happens")
struct WatchSimulationTests {
    @Test("Each change is reported once and in order, in a later put, or as a lag (P-12)")
    func promise() {
        for seed in 0..<250 as Range<UInt64> {
            var simulation = WatchSimulation(seed: seed)
            for _ in 0..<100 { simulation.step() }
            simulation.finish()
            if let wrong = simulation.wrong {
                Issue.record("seed \(seed): \(wrong)")
                return
            }
        }
    }
}

private struct WatchSimulation {
    private var random: SeededRandom
    private var machine: WatchMachine
    private let interest: WatchInterest
    /// Everything that happened, and what the log has lost of it.
    private var history: [Change] = []
    private var logStart = Revision(0)
    private var published = Revision(0)
    /// Where the watcher has begun, and what it was told since.
    private var begun: Revision
    private var told: [(change: Change, coalesced: Int)] = []
    /// What it may come back with.
    private var since: Revision
    private var reading: (after: Revision, through: Revision)?
    private(set) var wrong: String?

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
        let isPicky = Bool.random(using: &random)
        interest = isPicky ? WatchInterest(ids: [id("0"), id("1")]) : WatchInterest()
        machine = WatchMachine(interest, since: nil, listsFirst: false, published: published)
        begun = published
        since = published
    }

    mutating func step() {
        switch Int.random(in: 0..<12, using: &random) {
        case 0..<5: happen()
        case 5: for _ in 0..<40 { happen() }
        case 6..<10: read()
        case 10: comeBack()
        case _: if Int.random(in: 0..<4, using: &random) == 0 { trim() }
        }
    }

    /// Reads everything that there is.
    mutating func finish() {
        for _ in 0..<2_000 {
            guard wrong == nil, machine.state != .live || !machine.waiting.isEmpty else { break }
            read()
        }
        check(upTo: published)
    }

    private mutating func happen() {
        let revision = rev(published.number + 1)
        // A step changes an id once.
        for name in ["0", "1", "2"] where Int.random(in: 0..<3, using: &random) == 0 {
            let isPut = Int.random(in: 0..<4, using: &random) > 0
            history.append(isPut ? put(revision.number, name) : delete(revision.number, name))
        }
        published = revision
        for change in history where change.revision == revision { _ = machine.published(change) }
    }

    private mutating func read() {
        if let (after, through) = reading {
            reading = nil
            guard logStart <= after else { return machine.pageWasGone() }
            let next = after.number + Int64.random(in: 1...30, using: &random)
            let cut = rev(min(through.number, next))
            let page = history.filter { $0.revision > after && $0.revision <= cut }
            return machine.pageWasRead(page, through: cut, published: published)
        }
        switch machine.readerIsReady(published: published) {
        case .tell(let notices):
            for notice in notices { take(notice) }
        case .readLog(let after, let through): reading = (after, through)
        case .wait: check(upTo: published)
        case .tellLagged(_, let after):
            check(upTo: after)
            // What was dropped may be in the log.
            start(since: max(after, logStart))
        case .list, .end: start(since: max(since, logStart))
        }
    }

    private mutating func take(_ notice: WatchMachine.Notice) {
        if case .change(let change, let coalesced) = notice.content {
            if let last = told.last, last.change.revision > change.revision { wrong = "disorder" }
            told.append((change, coalesced))
        }
        if notice.revision < since { wrong = "\(notice.revision) after \(since)" }
        if !notice.hasMore { since = notice.revision }
    }

    private mutating func comeBack() {
        check(upTo: since)
        start(since: max(since, logStart))
    }

    private mutating func start(since: Revision) {
        machine = WatchMachine(interest, since: since, listsFirst: false, published: published)
        begun = since
        self.since = since
        told = []
        reading = nil
    }

    private mutating func trim() {
        logStart = rev(Int64.random(in: logStart.number...published.number, using: &random))
    }

    /// Both directions: each change is told or stood for, and what is told has happened.
    private mutating func check(upTo end: Revision) {
        var left = history.filter {
            $0.revision > begun && $0.revision <= end && interest.covers($0)
        }
        for (change, coalesced) in told {
            guard let index = left.firstIndex(of: change) else {
                wrong = "\(change) was told and did not happen, or twice"
                return
            }
            left.remove(at: index)
            for _ in 1..<coalesced {
                let earlier = left.lastIndex { other in
                    guard case .put = other.event else { return false }
                    return other.id == change.id && other.revision < change.revision
                }
                guard let earlier else {
                    wrong = "\(change) stands for more than there was"
                    return
                }
                left.remove(at: earlier)
            }
        }
        // A put that was coalesced with a later one is told with that one, here or on the way back.
        let missing = left.first { !isPut($0) || !hasLaterPut(than: $0, behind: end) }
        if let missing { wrong = "\(missing) was not told" }
    }

    private func hasLaterPut(than change: Change, behind end: Revision) -> Bool {
        let next = history.first { other in
            other.id == change.id && other.revision > end
        }
        return next.map(isPut) ?? false
    }

    private func isPut(_ change: Change) -> Bool {
        if case .put = change.event { true } else { false }
    }
}
