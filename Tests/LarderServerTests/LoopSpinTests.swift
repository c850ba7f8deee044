import LarderModel
import NIOCore
import NIOEmbedded
import Testing

@testable import LarderServer

@Suite("Keeping a loop awake for its only client")
struct LoopSpinTests {
    /// A spin whose pipe is a channel of the test's, at moments that the test sets.
    private final class Fixture {
        let pipe: EmbeddedChannel
        let spin: LoopSpin
        private let clock = Clock()
        let (one, other) = (Clock(), Clock())

        final class Clock {
            var now = NIODeadline.uptimeNanoseconds(1)
        }

        init() throws {
            let clock = clock
            let spin = LoopSpin(now: { clock.now })
            self.spin = spin
            pipe = EmbeddedChannel()
            try pipe.pipeline.syncOperations.addHandler(spin)
        }

        /// Whether a byte is sent when a client is answered, some time after the last step.
        func answers(_ client: Clock, after time: Duration = .zero) throws -> Bool {
            clock.now = clock.now + TimeAmount(time)
            spin.answered(ObjectIdentifier(client))
            return try pipe.readOutbound(as: ByteBuffer.self) != nil
        }

        /// Whether a byte that comes out of the pipe is sent once more.
        func turns(after time: Duration) throws -> Bool {
            clock.now = clock.now + TimeAmount(time)
            try pipe.writeInbound(ByteBuffer(integer: 0 as UInt8))
            return try pipe.readOutbound(as: ByteBuffer.self) != nil
        }
    }

    @Test("The byte goes round for a while after each answer to who alone has asked for long")
    func alone() throws {
        let fixture = try Fixture()
        #expect(try !fixture.answers(fixture.one))
        #expect(try !fixture.answers(fixture.one, after: .seconds(1)))
        #expect(try !fixture.answers(fixture.one, after: .milliseconds(4)))
        #expect(try fixture.answers(fixture.one, after: .milliseconds(1)))
        #expect(try fixture.turns(after: .microseconds(39)))
        // It is under way.
        #expect(try !fixture.answers(fixture.one))
        #expect(try fixture.turns(after: .microseconds(39)))
        #expect(try !fixture.turns(after: .microseconds(1)))
        #expect(try fixture.answers(fixture.one))
    }

    @Test("An answer to another client ends the spin, until the first client is alone again")
    func others() throws {
        let fixture = try Fixture()
        for _ in 0..<2 { #expect(try !fixture.answers(fixture.one)) }
        #expect(try fixture.answers(fixture.one, after: .milliseconds(5)))
        #expect(try !fixture.answers(fixture.other))
        #expect(try !fixture.turns(after: .microseconds(1)))
        for _ in 0..<100 {
            for client in [fixture.one, fixture.other] {
                #expect(try !fixture.answers(client, after: .milliseconds(5)))
            }
        }
    }
}
