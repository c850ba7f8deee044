import LarderModel
import LarderStrategy
import Testing

@Suite("A modifier's states")
struct ModifierQueueTableTests {
    @Test("Every event in every state does what the table says", arguments: QueuePlace.allCases)
    func table(place: QueuePlace) throws {
        let table = QueueTable(try QueueScript()).place(place)
        for event in QueueEvent.allCases {
            var script = try QueueScript()
            try script.go(to: place)
            let before = script.state(1)
            let wait = script.wait(1)
            let reaction = try script.react(event)
            let (expected, next) = table.reactions[event] ?? (.actions([]), before)
            #expect(reaction == expected, "\(place), \(event)")
            #expect(script.state(1) == next, "\(place), \(event)")
            if table.quiet.contains(event) { #expect(script.wait(1) == wait, "\(place), \(event)") }
            script.queue.checkInvariants()
        }
    }

    @Test("The table has every event in every state once")
    func tableIsComplete() throws {
        let table = QueueTable(try QueueScript())
        for place in QueuePlace.allCases {
            let row = table.place(place)
            #expect(row.quiet.isDisjoint(with: row.reactions.keys), "\(place)")
            let told = row.quiet.union(row.reactions.keys)
            #expect(told == Set(QueueEvent.allCases), "\(place)")
        }
    }

    @Test("The places are in the states that they are named after")
    func places() throws {
        let states: [QueuePlace: ModifierState] = [
            .held: .held, .queued: .queued, .committingSend: .inFlight, .inFlight: .inFlight,
            .retryWait: .retryWait, .unknown: .unknown, .doubtful: .unknown,
            .authWait: .authWait, .conflict: .conflict, .accepted: .accepted,
            .changing: .retryWait, .settling: .confirmed,
        ]
        for place in QueuePlace.allCases {
            var script = try QueueScript()
            try script.go(to: place)
            #expect(script.state(1) == states[place])
        }
    }
}
