import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("Turns of readers")
struct FairReadQueueTests {
    private let ada = Reading.User.uid(1)
    private let bob = Reading.User.uid(2)
    private let eve = Reading.User.uid(3)

    private func ask<Read>(
        _ turns: inout FairReadQueue<Read>,
        _ reads: [Read],
        by user: Reading.User
    ) {
        for read in reads {
            let isTaken = turns.asked(read, by: user)
            #expect(isTaken)
        }
    }

    /// Begins what can be, and says what.
    private func begin(_ turns: inout FairReadQueue<String>) -> [String] {
        var begun: [String] = []
        while let (_, read) = turns.next() { begun.append(read) }
        return begun
    }

    private func expect(_ reads: [String], of turns: inout FairReadQueue<String>) {
        let begun = begin(&turns)
        #expect(begun == reads)
    }

    @Test("A user has a share of the readers, and reads over it do not delay other users")
    func share() {
        var turns = FairReadQueue<String>(readersMax: 4, shareMax: 2)
        ask(&turns, ["a1", "a2", "a3"], by: ada)
        expect(["a1", "a2"], of: &turns)
        ask(&turns, ["b1"], by: bob)
        expect(["b1"], of: &turns)
        turns.ended(of: bob)
        expect([], of: &turns)
        turns.ended(of: ada)
        expect(["a3"], of: &turns)
    }

    @Test("Where all readers are taken, those who wait take turns, each in the order of asking")
    func turns() {
        var turns = FairReadQueue<String>(readersMax: 2, shareMax: 2)
        ask(&turns, ["a1", "a2", "a3", "a4"], by: ada)
        expect(["a1", "a2"], of: &turns)
        ask(&turns, ["b1", "b2"], by: bob)
        ask(&turns, ["e1"], by: .daemon)
        var order: [String] = []
        for user in [ada, ada, bob, ada, .daemon, ada] {
            turns.ended(of: user)
            order += begin(&turns)
        }
        #expect(order == ["a3", "b1", "e1", "a4", "b2"])
    }

    @Test("A user has so many reads that wait, and the next is refused")
    func bound() {
        var turns = FairReadQueue<Int>(readersMax: 1, shareMax: 1)
        ask(&turns, Array(0..<Limits.readsWaitingPerUserMax), by: ada)
        let isTaken = turns.asked(-1, by: ada)
        #expect(!isTaken)
        ask(&turns, [-1], by: bob)
        let first = turns.next()
        #expect(first?.read == 0)
        ask(&turns, [-1], by: ada)
        #expect(turns.waitingCount(of: ada) == Limits.readsWaitingPerUserMax)
    }

    @Test("In a model with users in any order, no reader idles while a user may have it")
    func model() {
        for seed in 0..<200 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            var turns = FairReadQueue<Int>(readersMax: 3, shareMax: 2)
            var waiting: [Reading.User: [Int]] = [:]
            var begun: [Reading.User] = []
            for step in 0..<200 {
                let user = [ada, bob, eve][Int(random.next() % 3)]
                if random.next() % 2 == 0 {
                    ask(&turns, [step], by: user)
                    waiting[user, default: []].append(step)
                } else if let place = begun.firstIndex(of: user) {
                    begun.remove(at: place)
                    turns.ended(of: user)
                }
                while let (user, read) = turns.next() {
                    #expect(waiting[user]?.first == read, "seed \(seed)")
                    waiting[user]?.removeFirst()
                    begun.append(user)
                }
                let counts = Dictionary(begun.map { ($0, 1) }, uniquingKeysWith: +)
                #expect(begun.count <= 3 && counts.values.allSatisfy { $0 <= 2 }, "seed \(seed)")
                let mayBegin = waiting.contains { !$1.isEmpty && counts[$0, default: 0] < 2 }
                #expect(begun.count == 3 || !mayBegin, "seed \(seed)")
            }
        }
    }
}
