import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStrategy

@Suite("A watcher's queue of notices")
struct NoticeQueueTests {
    @Test("Puts of a few ids take the room of a few, however many there were")
    func swept() {
        var queue = NoticeQueue()
        #expect(queue.add(delete(1, "first")) == true)
        for revision in 2...5_001 as ClosedRange<Int64> {
            #expect(queue.add(put(revision, revision % 2 == 0 ? "a" : "b")) == true)
        }
        queue.checkInvariants()
        #expect(queue.count == 3)
        #expect(queue.places.count <= Limits.watchNoticesMax + 3)
        let told = [
            notice(delete(1, "first")), notice(put(5_000, "a"), coalesced: 2_500),
            notice(put(5_001, "b"), coalesced: 2_500),
        ]
        let taken = queue.take(64)
        #expect(taken == told)
        #expect(queue.places.isEmpty)
    }

    @Test("A put that stands for earlier ones names the entities of all of them, each once")
    func changedOfAll() throws {
        let keys = try ["User:1", "User:2", "User:3"].map { try EntityKey($0) }
        var queue = NoticeQueue()
        for (revision, changed) in [(1, [keys[0], keys[1]]), (2, []), (3, [keys[2], keys[0]])] {
            var change = put(Int64(revision), "a")
            change.name(changed: changed)
            #expect(queue.add(change) == true)
        }
        let taken = queue.take(64)
        guard case .change(let change, let coalesced)? = taken.first?.content,
            case .put(_, let cause) = change.event
        else {
            Issue.record("\(taken)")
            return
        }
        #expect(coalesced == 3)
        #expect(Set(cause.changed) == Set(keys))
        #expect(cause.changed.count == 3)
    }

    @Test("A put whose cause is longer than that of the one it stands for has to fit too")
    func longerCause() {
        var queue = NoticeQueue()
        let long = String(repeating: "x", count: 8_000)
        for number in 0..<32 as Range<Int64> {
            #expect(queue.add(put(1 + number, "\(number)\(long)")) == true)
        }
        #expect(queue.add(put(33, "0\(long)")) == true)
        var cause = ChangeCause(.network)
        cause.text = "fetch:\(long)"
        let change = Change(rev(34), .own(uid: 1, account: .default), .put(id("0\(long)"), cause))
        #expect(queue.add(change) == false)
        #expect(queue.count == 32)
    }

    /// Against a list from which an earlier put is taken out where it stands.
    @Test(
        "The queue hands out the notices of a plain list, in any sequence of events",
        arguments: 0..<10 as Range<UInt64>
    )
    func model(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var queue = NoticeQueue()
        var model: [WatchMachine.Notice] = []
        for revision in 1...2_000 as ClosedRange<Int64> {
            let name = "\(Int.random(in: 0..<6, using: &random))"
            switch Int.random(in: 0..<20, using: &random) {
            case 0:
                let most = Int.random(in: 1...5, using: &random)
                let taken = queue.take(most)
                #expect(taken == Array(model.prefix(most)), "seed \(seed)")
                model.removeFirst(min(most, model.count))
            case 1..<4:
                #expect(queue.add(delete(revision, name)) == true)
                model.append(notice(delete(revision, name)))
            case _:
                #expect(queue.add(put(revision, name)) == true)
                model.add(put(revision, name))
            }
            if revision % 20 == 0 { queue.checkInvariants() }
        }
        let cut = rev(Int64.random(in: 1_950...2_000, using: &random))
        queue.drop(from: cut)
        queue.checkInvariants()
        #expect(queue.notices == model.filter { $0.revision < cut }, "seed \(seed)")
    }
}

extension [WatchMachine.Notice] {
    fileprivate mutating func add(_ put: Change) {
        var coalesced = 1
        if let place = lastIndex(where: { $0.id == put.id }),
            case .change(let earlier, let count) = self[place].content, case .put = earlier.event
        {
            coalesced += count
            remove(at: place)
        }
        append(notice(put, coalesced: coalesced))
    }
}
