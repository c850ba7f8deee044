import LarderModel
import LarderStrategy
import Testing

@Suite("A hundred thousand modifiers")
struct ModifierQueueSizeTests {
    private static let count: Int64 = 100_000
    /// A binary heap of so many is 17 high; an event moves a few elements a few times that far.
    private static let movesMax = 200

    private var script: QueueScript

    init() throws {
        script = try QueueScript()
    }

    /// Starts with as many, each of which stands in a lane of its own and in one of ten.
    private mutating func start() throws -> [ModifierQueue.Action] {
        let records = try (1...Self.count).map { number in
            var record = try script.record(number, ["\(number)", "shared \(number % 10)"])
            record.expiresAt = .start.advanced(by: .seconds(1_000_000 - number))
            return record
        }
        return script.restore(records)
    }

    @Test("No event walks over the queue, whichever modifier is sent, waits, leaves or is added")
    mutating func bounded() throws {
        var steps = try start()
        #expect(steps.count == 8)
        #expect(script.queue.moves < Int(Self.count) * Self.movesMax)
        let verdicts: [ModifierVerdict] = [
            .confirmed(.none), .notNow(retryAfter: nil), .accepted, .neverLeft, .unclear(.lost),
            .authNeeded, .refused,
        ]
        var worst = 0
        for round in 0..<5_000 {
            guard !steps.isEmpty else {
                let before = script.queue.moves
                steps = wake(round)
                worst = max(worst, script.queue.moves - before)
                continue
            }
            let step = steps.removeFirst()
            let before = script.queue.moves
            if case .send(let number) = step {
                steps += script.end(number.value, verdicts[round % verdicts.count])
            } else {
                steps += script.commit(step)
            }
            worst = max(worst, script.queue.moves - before)
        }
        #expect(worst < Self.movesMax)
        script.queue.checkInvariants()
    }

    /// What waits goes on: the origin, the credential, the time.
    private mutating func wake(_ round: Int) -> [ModifierQueue.Action] {
        switch round % 3 {
        case 0: script.queue.credentialChanged(at: script.origin, of: nil, now: script.now)
        case 1: script.queue.originAnswered(script.origin, randomUnit: 0, now: script.now)
        case _: script.pass(.seconds(1))
        }
    }

    @Test("People's commands cost no more in the middle of a long lane than at its end")
    mutating func byHand() throws {
        _ = script.queue.originSetOffline(script.origin, now: script.now)
        _ = try start()
        for number in stride(from: Self.count / 2, to: Self.count, by: 1_000) {
            let before = script.queue.moves
            let actions = try script.queue.cancelAsked(
                ModifierNumber(number),
                withDependants: false,
                now: script.now
            )
            for action in actions { _ = script.commit(action) }
            let shared = Lane.name(try LaneName("shared \(number % 10)"))
            _ = script.queue.lanePaused(shared, of: script.scope, now: script.now)
            _ = script.queue.laneResumed(shared, of: script.scope, now: script.now)
            #expect(script.queue.moves - before < Self.movesMax)
        }
        script.queue.checkInvariants()
    }
}
