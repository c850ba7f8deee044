import LarderTestSupport
import Testing

@testable import LarderEngine

/// How a body goes from its flight to the one client.
@Suite("A body that is handed over", .timeLimit(.minutes(5)))
struct BodyHandoverTests {
    @Test("Pieces come in order, each once the one before was taken, and then the end")
    func order() async throws {
        let handover = BodyHandover()
        let taken = Recorder<Int>()
        async let offered: [Bool] = {
            var answers: [Bool] = []
            for piece in 0..<3 {
                answers.append(await handover.offer([UInt8(piece)]))
                taken.record(piece)
            }
            handover.finish(isWhole: true)
            return answers
        }()
        for piece in 0..<3 {
            #expect(taken.all.count <= piece)
            #expect(try await handover.next() == [UInt8(piece)])
            _ = try await taken.element(piece)
        }
        #expect(try await handover.next() == nil)
        #expect(try await handover.next() == nil)
        #expect(await offered == [true, true, true])
    }

    @Test("A broken-off body throws to its waiting reader and to each later one")
    func brokenOff() async throws {
        let handover = BodyHandover()
        let first = Task { try await handover.next() }
        handover.finish(isWhole: false)
        await #expect(throws: BodyHandover.BrokenOff.self) { try await first.value }
        await #expect(throws: BodyHandover.BrokenOff.self) { try await handover.next() }
        #expect(await handover.offer([1]) == false)
    }

    @Test("Letting go of the client's end tells the flight, and frees what it offers")
    func givenUp() async {
        var body: PassedBody? = PassedBody()
        let handover = body?.handover ?? BodyHandover()
        async let offered = handover.offer([1])
        async let watched: Void = handover.untilOver()
        body = nil
        #expect(await offered == false)
        await watched
        #expect(body == nil)
    }

    @Test("Cancelling the flight breaks the body off")
    func cancelled() async throws {
        let handover = BodyHandover()
        let flight = Task { await handover.offer([1]) }
        flight.cancel()
        #expect(await flight.value == false)
        await #expect(throws: BodyHandover.BrokenOff.self) { try await handover.next() }
        let watch = Task { await BodyHandover().untilOver() }
        watch.cancel()
        await watch.value
    }

    @Test("The first end of a body counts")
    func firstEnd() async throws {
        let handover = BodyHandover()
        handover.finish(isWhole: true)
        handover.finish(isWhole: false)
        handover.finish(isWhole: false)
        #expect(try await handover.next() == nil)
    }
}
