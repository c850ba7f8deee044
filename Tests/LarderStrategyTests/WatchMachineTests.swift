import LarderModel
import Testing

@testable import LarderStrategy

@Suite("The machine of a watcher")
struct WatchMachineTests {
    private let everything = WatchInterest()

    @Test("Without since it starts now: a bookmark says where, then it hears what happens")
    func fromNow() {
        var machine = WatchMachine(everything, since: nil, listsFirst: false, published: rev(10))
        #expect(machine.readerIsReady(published: rev(10)) == .tell([bookmark(10)]))
        #expect(machine.readerIsReady(published: rev(10)) == .wait)
        #expect(machine.published(put(12, "a")) == true)
        #expect(machine.readerIsReady(published: rev(13)) == .tell([notice(put(12, "a"))]))
        #expect(machine.readerIsReady(published: rev(13)) == .wait)
        #expect(machine.told == rev(13))
    }

    @Test("With since it reads the log up to what is published, and goes on live without a gap")
    func catchesUp() {
        var machine = WatchMachine(everything, since: rev(5), listsFirst: false, published: rev(9))
        #expect(
            machine.readerIsReady(published: rev(9)) == .readLog(after: rev(5), through: rev(9))
        )
        // It will be found in the log.
        #expect(machine.published(put(10, "b")) == false)
        machine.pageWasRead([put(6, "a"), put(6, "c")], through: rev(9), published: rev(10))
        var first = notice(put(6, "a"))
        first.hasMore = true
        let page = [first, notice(put(6, "c"))]
        #expect(machine.readerIsReady(published: rev(10)) == .tell(page))
        let next = WatchMachine.ReadAction.readLog(after: rev(9), through: rev(10))
        #expect(machine.readerIsReady(published: rev(10)) == next)
        machine.pageWasRead([put(10, "b")], through: rev(10), published: rev(10))
        #expect(machine.state == .live)
        #expect(machine.readerIsReady(published: rev(10)) == .tell([notice(put(10, "b"))]))
        #expect(machine.readerIsReady(published: rev(10)) == .tell([bookmark(10)]))
    }

    @Test("A since above the published revision misses no change that was open below it (P-12)")
    func ahead() {
        var machine = WatchMachine(everything, since: rev(12), listsFirst: false, published: rev(9))
        #expect(machine.readerIsReady(published: rev(9)) == .tell([bookmark(9)]))
        #expect(machine.readerIsReady(published: rev(9)) == .wait)
        #expect(machine.published(put(11, "b")) == true)
        #expect(machine.published(put(12, "a")) == true)
        let told = [notice(put(11, "b")), notice(put(12, "a"))]
        #expect(machine.readerIsReady(published: rev(12)) == .tell(told))
    }

    @Test("A log that does not reach back is told as a lag, from where it is")
    func gone() {
        var machine = WatchMachine(everything, since: rev(5), listsFirst: false, published: rev(9))
        _ = machine.readerIsReady(published: rev(9))
        machine.pageWasGone()
        let lagged = WatchMachine.ReadAction.tellLagged(rev(6), droppedAfter: rev(5))
        #expect(machine.readerIsReady(published: rev(9)) == lagged)
        #expect(machine.readerIsReady(published: rev(9)) == .end)
    }

    @Test("The entries come first, then a bookmark, then what has changed since they were read")
    func initial() {
        var machine = WatchMachine(everything, since: nil, listsFirst: true, published: rev(9))
        #expect(machine.readerIsReady(published: rev(9)) == .list)
        #expect(machine.published(put(10, "a")) == false)
        // Its row was read after it had changed.
        machine.entriesWereListed([(id("a"), rev(10)), (id("b"), rev(3))])
        #expect(machine.listed == [id("a"): rev(10)])
        machine.listingEnded()
        var done = bookmark(9)
        done.content = .bookmark(isInitialDone: true)
        #expect(machine.readerIsReady(published: rev(11)) == .tell([done]))
        _ = machine.readerIsReady(published: rev(11))
        machine.pageWasRead([put(10, "a"), put(11, "b")], through: rev(11), published: rev(11))
        #expect(machine.readerIsReady(published: rev(11)) == .tell([notice(put(11, "b"))]))
    }

    @Test("A change during a long list is remembered in bounded memory, or reported again")
    func longList() {
        var machine = WatchMachine(everything, since: nil, listsFirst: true, published: rev(9))
        let long = String(repeating: "x", count: 8_000)
        let ids = (0..<20).map { id("\($0)\(long)") }
        machine.entriesWereListed(ids.map { ($0, rev(3)) })
        #expect(machine.listed.isEmpty, "the log says nothing of it")
        // Each has changed before it was told.
        for id in ids { machine.entriesWereListed([(id, rev(30))]) }
        let known = machine.listed.count
        #expect(known == Limits.watchListedBytesMax / (8_002 + Limits.watchNoticeOverheadBytes))
        machine.listingEnded()
        _ = machine.readerIsReady(published: rev(30))
        _ = machine.readerIsReady(published: rev(30))
        let changes = ids.indices.map { put(10 + Int64($0), "\($0)\(long)") }
        machine.pageWasRead(changes, through: rev(30), published: rev(30))
        let again = changes.dropFirst(known).map { notice($0) }
        #expect(machine.readerIsReady(published: rev(30)) == .tell(again))
        #expect(machine.listed.isEmpty)
    }

    @Test("Puts of one id that wait become the latest, which says how many it stands for")
    func coalesces() {
        var machine = live()
        for revision in 11...13 as ClosedRange<Int64> { _ = machine.published(put(revision, "a")) }
        _ = machine.published(put(14, "b"))
        _ = machine.published(put(15, "a"))
        let told = [notice(put(14, "b")), notice(put(15, "a"), coalesced: 4)]
        #expect(machine.readerIsReady(published: rev(15)) == .tell(told))
        #expect(machine.published(put(16, "a")) == true)
        #expect(machine.readerIsReady(published: rev(16)) == .tell([notice(put(16, "a"))]))
    }

    @Test("A put that coalesces another client's is not marked as the watcher's own")
    func coalescesClients() {
        let phone = ClientTag(uid: 1, name: "phone")
        let laptop = ClientTag(uid: 1, name: "laptop")
        let cases: [(ClientTag?, ClientTag?)] = [(phone, phone), (laptop, nil), (nil, nil)]
        for (earlier, common) in cases {
            var machine = live()
            _ = machine.published(put(11, "a", by: earlier))
            _ = machine.published(put(12, "a", by: phone))
            let told = [notice(put(12, "a", by: common), coalesced: 2)]
            #expect(machine.readerIsReady(published: rev(12)) == .tell(told))
        }
    }

    @Test("A put after a delete does not coalesce with the one before it")
    func notAcrossDelete() {
        var machine = live()
        let changes = [put(11, "a"), delete(12, "a"), put(13, "a"), put(14, "a")]
        for change in changes { _ = machine.published(change) }
        let told = [notice(changes[0]), notice(changes[1]), notice(changes[3], coalesced: 2)]
        #expect(machine.readerIsReady(published: rev(14)) == .tell(told))
    }

    @Test("Modifiers are never coalesced")
    func modifiers() throws {
        var machine = live()
        var changes: [Change] = []
        for (offset, state) in [ModifierState.queued, .inFlight, .confirmed].enumerated() {
            let modifier = ModifierChange(id: try ModifierID("m"), state: state, targets: [id("a")])
            changes.append(Change(rev(11 + Int64(offset)), scope, .modifier(modifier)))
        }
        for change in changes { #expect(machine.published(change) == true) }
        #expect(machine.readerIsReady(published: rev(13)) == .tell(changes.map { notice($0) }))
    }

    @Test("A watcher of an id hears of the modifiers that change it, and of no others")
    func modifiersOfTargets() throws {
        let interest = WatchInterest(ids: [id("a")], prefixes: ["p/"])
        for (target, isCovered) in [("a", true), ("b", false), ("p/1", true)] {
            let modifier = ModifierChange(
                id: try ModifierID("m"),
                state: .failed,
                targets: [id("z"), id(target)]
            )
            #expect(interest.covers(Change(rev(1), scope, .modifier(modifier))) == isCovered)
        }
    }

    @Test("A slow watcher gets the waiting notices, then that it lagged, and then its end")
    func lags() {
        var machine = live()
        let most = Int64(Limits.watchNoticesMax)
        for number in 0..<most { _ = machine.published(put(11 + number, "id\(number)")) }
        #expect(machine.published(put(11 + most, "one more")) == true)
        #expect(machine.published(put(12 + most, "and more")) == false)
        var told = 0
        while case .tell(let notices) = machine.readerIsReady(published: rev(12 + most)) {
            #expect(notices.count <= Limits.watchBatchNotices)
            told += notices.count
        }
        #expect(told == Limits.watchNoticesMax)
        #expect(machine.state == .finished)
    }

    @Test("A step that does not fit whole is dropped whole")
    func lagsByStep() {
        var machine = live()
        let long = String(repeating: "x", count: 8_000)
        for number in 0..<31 as Range<Int64> {
            _ = machine.published(put(11 + number, "\(number)\(long)"))
        }
        _ = machine.published(put(50, "1\(long)x"))
        _ = machine.published(put(50, "2\(long)x"))
        _ = machine.published(put(50, "3\(long)x"))
        var told: [Revision] = []
        while case .tell(let notices) = machine.readerIsReady(published: rev(50)) {
            told += notices.map(\.revision)
        }
        #expect(told == (11..<42).map { rev($0) })
    }

    @Test("A watcher reads lost changes from the log, or lags if the log has lost them too")
    func cut() {
        var machine = live()
        _ = machine.published(put(11, "a"))
        #expect(machine.releaseWasCut(after: rev(12)) == true)
        #expect(machine.readerIsReady(published: rev(20)) == .tell([notice(put(11, "a"))]))
        let log = WatchMachine.ReadAction.readLog(after: rev(12), through: rev(20))
        #expect(machine.readerIsReady(published: rev(20)) == log)
        machine.pageWasGone()
        let lagged = WatchMachine.ReadAction.tellLagged(rev(13), droppedAfter: rev(12))
        #expect(machine.readerIsReady(published: rev(20)) == lagged)
    }

    @Test("An origin's state comes after all earlier changes, and is not replayed")
    func origins() throws {
        let name = try OriginName("example")
        var machine = WatchMachine(everything, since: rev(5), listsFirst: false, published: rev(9))
        #expect(machine.statusChanged(.origin(name), "offline", published: rev(9)) == false)
        #expect(machine.statusChanged(.origin(name), "online", published: rev(9)) == false)
        machine.pageWasRead([put(7, "a")], through: rev(9), published: rev(9))
        let online = WatchMachine.Notice(
            revision: rev(9),
            content: .status(.origin(name), "online")
        )
        #expect(machine.readerIsReady(published: rev(9)) == .tell([notice(put(7, "a")), online]))
    }

    @Test("A watcher that hears nothing is told by a bookmark how far it is, once for each place")
    func beats() {
        var machine = live()
        #expect(machine.beatIsDue(published: rev(10)) == .beat(rev(10)))
        #expect(machine.beatIsDue(published: rev(20)) == .tell(bookmark(20)))
        #expect(machine.beatIsDue(published: rev(20)) == .beat(rev(20)))
    }

    @Test("Ids, prefixes and kinds choose what is heard of")
    func interest() {
        var interest = WatchInterest(ids: [id("a")], prefixes: ["p/"])
        let covered = ["a", "ab", "p/", "p/x", "q"].filter { interest.covers(id($0)) }
        #expect(covered == ["a", "p/", "p/x"])
        interest.kinds = [.delete]
        #expect(!interest.covers(put(1, "a")))
        #expect(interest.covers(delete(1, "a")))
    }

    /// Live at revision 10, with its first bookmark told.
    private func live() -> WatchMachine {
        var machine = WatchMachine(everything, since: nil, listsFirst: false, published: rev(10))
        _ = machine.readerIsReady(published: rev(10))
        return machine
    }
}

// MARK: Words of the tests

private let scope = Scope.own(uid: 1, account: .default)

func rev(_ number: Int64) -> Revision { Revision(number) }

func id(_ text: String) -> EntryID {
    guard let id = try? EntryID(text) else { preconditionFailure("'\(text)' is an id") }
    return id
}

func put(_ revision: Int64, _ name: String, by client: ClientTag? = nil) -> Change {
    Change(rev(revision), scope, .put(id(name), ChangeCause(.network, client: client)))
}

func delete(_ revision: Int64, _ name: String) -> Change {
    Change(rev(revision), scope, .delete(id(name), ChangeCause(.network)))
}

func notice(_ change: Change, coalesced: Int = 1) -> WatchMachine.Notice {
    WatchMachine.Notice(revision: change.revision, content: .change(change, coalesced: coalesced))
}

func bookmark(_ revision: Int64) -> WatchMachine.Notice {
    WatchMachine.Notice(revision: rev(revision), content: .bookmark(isInitialDone: false))
}
