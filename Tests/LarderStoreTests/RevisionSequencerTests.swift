import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("The sequencer of revisions")
struct RevisionSequencerTests {
    @Test("What is committed waits for the lower numbers that are still open")
    func waitsForLower() {
        var sequencer = RevisionSequencer(after: Revision(9))
        let (ten, eleven) = (sequencer.opened(), sequencer.opened())
        #expect([ten, eleven] == [Revision(10), Revision(11)])
        sequencer.changed([change(11)])
        #expect(sequencer.closed([eleven]).changes == [])
        #expect(sequencer.released == Revision(9))
        sequencer.changed([change(10)])
        #expect(sequencer.closed([ten]).changes == [change(10), change(11)])
        #expect(sequencer.released == Revision(11))
    }

    @Test("A number that was given up holds nothing up and tells nothing")
    func givenUp() {
        var sequencer = RevisionSequencer(after: Revision(0))
        let (one, two, three) = (sequencer.opened(), sequencer.opened(), sequencer.opened())
        sequencer.changed([change(3)])
        #expect(sequencer.closed([three, two]).changes == [])
        #expect(sequencer.closed([one]).changes == [change(3)])
        #expect(sequencer.released == three)
    }

    @Test("What one step has changed is released together, in the order in which it was made")
    func oneStep() {
        var sequencer = RevisionSequencer(after: Revision(0))
        let one = sequencer.opened()
        sequencer.changed([change(1, "b")])
        sequencer.changed([change(1, "a")])
        #expect(sequencer.closed([one]).changes == [change(1, "b"), change(1, "a")])
    }

    /// Two writers take numbers in turns and finish groups of them in any order; the model keeps
    /// every number and what became of it.
    @Test("Two writers: what is released is what was committed below the lowest open number")
    func twoWriters() {
        for seed in 0..<400 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            var simulation = Simulation()
            for _ in 0..<120 { simulation.step(&random) }
            simulation.end()
            guard simulation.told == simulation.expected, simulation.isAlwaysRight else {
                Issue.record("seed \(seed): \(simulation.told) is not \(simulation.expected)")
                return
            }
        }
    }

    private struct Simulation {
        var sequencer = RevisionSequencer(after: Revision(41))
        var taken: [[Revision]] = [[], []]
        var open: Set<Revision> = []
        var committed: [Revision: [Change]] = [:]
        var told: [Change] = []
        var isAlwaysRight = true

        var expected: [Change] {
            committed.keys.sorted().flatMap { committed[$0] ?? [] }
        }

        mutating func step(_ random: inout SeededRandom) {
            let writer = Int.random(in: 0...1, using: &random)
            if taken[writer].count < 6, Bool.random(using: &random) {
                let revision = sequencer.opened()
                taken[writer].append(revision)
                open.insert(revision)
            } else {
                finish(writer, isCommitted: Int.random(in: 0..<4, using: &random) > 0)
            }
            sequencer.checkInvariants()
            let last = Revision(sequencer.last.number + 1)
            let lowest = open.min() ?? last
            if sequencer.released.number != lowest.number - 1 { isAlwaysRight = false }
            if told.contains(where: { $0.revision >= lowest }) { isAlwaysRight = false }
        }

        private mutating func finish(_ writer: Int, isCommitted: Bool) {
            let group = taken[writer]
            taken[writer] = []
            for revision in group {
                open.remove(revision)
                committed[revision] = isCommitted ? [change(revision.number)] : []
            }
            if isCommitted { sequencer.changed(group.map { change($0.number) }) }
            told += sequencer.closed(group).changes
        }

        mutating func end() {
            for writer in 0...1 { finish(writer, isCommitted: true) }
        }
    }
}

private func change(_ revision: Int64, _ id: String = "a") -> Change {
    guard let id = try? EntryID(id) else { preconditionFailure("it is an id") }
    return Change(Revision(revision), .first, .put(id, ChangeCause(.client)))
}
