import LarderTestSupport
import Testing

@testable import LarderEngine

/// How a body goes from its flight to the one client.
@Suite("A body that is handed over", .timeLimit(.minutes(5)))
struct BodyPipeTests {
    @Test("Pieces come in order, each once the one before was taken, and then the end")
    func order() async throws {
        let pipe = BodyPipe()
        let taken = Recorder<Int>()
        async let offered: [Bool] = {
            var answers: [Bool] = []
            for piece in 0..<3 {
                answers.append(await pipe.offer([UInt8(piece)]))
                taken.record(piece)
            }
            pipe.finish(isWhole: true)
            return answers
        }()
        for piece in 0..<3 {
            #expect(taken.all.count <= piece)
            #expect(try await pipe.next() == [UInt8(piece)])
            _ = try await taken.element(piece)
        }
        #expect(try await pipe.next() == nil)
        #expect(try await pipe.next() == nil)
        #expect(await offered == [true, true, true])
    }

    @Test("A broken-off body throws to its waiting reader and to each later one")
    func brokenOff() async throws {
        let pipe = BodyPipe()
        let first = Task { try await pipe.next() }
        pipe.finish(isWhole: false)
        await #expect(throws: BodyPipe.BrokenOff.self) { try await first.value }
        await #expect(throws: BodyPipe.BrokenOff.self) { try await pipe.next() }
        #expect(await pipe.offer([1]) == false)
    }

    @Test("Letting go of the client's end tells the flight, and frees what it offers")
    func givenUp() async {
        var body: PassThroughBody? = PassThroughBody()
        let pipe = body?.pipe ?? BodyPipe()
        async let offered = pipe.offer([1])
        async let watched: Void = pipe.untilOver()
        body = nil
        #expect(await offered == false)
        await watched
        #expect(body == nil)
    }

    @Test("Cancelling the flight breaks the body off")
    func cancelled() async throws {
        let pipe = BodyPipe()
        let flight = Task { await pipe.offer([1]) }
        flight.cancel()
        #expect(await flight.value == false)
        await #expect(throws: BodyPipe.BrokenOff.self) { try await pipe.next() }
        let watch = Task { await BodyPipe().untilOver() }
        watch.cancel()
        await watch.value
    }

    @Test("The first end of a body counts")
    func firstEnd() async throws {
        let pipe = BodyPipe()
        pipe.finish(isWhole: true)
        pipe.finish(isWhole: false)
        pipe.finish(isWhole: false)
        #expect(try await pipe.next() == nil)
    }
}
