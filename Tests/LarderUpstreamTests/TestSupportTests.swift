import Glibc
import LarderTestSupport
import Testing

@Suite("Support code of other tests", .timeLimit(.minutes(5)))
struct TestSupportTests {
    @Test("SplitMix64 gives the numbers of its reference code")
    func splitMix() {
        var random = SeededRandom(seed: 1_234_567)
        #expect(
            (0..<3).map { _ in random.next() } == [
                6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423,
            ]
        )
    }

    @Test("A temporary directory goes with what is in it, and spares what its links lead to")
    func temporaryDirectory() throws {
        let other = try TemporaryDirectory()
        var directory: TemporaryDirectory? = try TemporaryDirectory()
        let path = try #require(directory?.path)
        #expect(mkdir("\(path)/inner", 0o700) == 0)
        #expect(close(creat("\(path)/inner/file", 0o600)) == 0)
        #expect(symlink(other.path, "\(path)/link") == 0)
        #expect(access("\(path)/inner/file", F_OK) == 0)
        directory = nil
        #expect(access(path, F_OK) == -1)
        #expect(access(other.path, F_OK) == 0)
    }

    @Test("A recorder answers who asks before and after, and ends with a cancelled task")
    func recorder() async throws {
        let recorder = Recorder<Int>()
        async let second = recorder.element(1)
        recorder.record(10)
        recorder.record(11)
        let elements = (try await recorder.element(0), try await second)
        #expect(elements == (10, 11))
        let waiting = Task { try await recorder.element(2) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }

    @Test("An open gate lets all tasks pass")
    func gate() async throws {
        let gate = Gate()
        async let first: Void = gate.wait()
        gate.open()
        try await first
        try await gate.wait()
    }
}
