import Foundation
import LarderJSON
import LarderModel
import LarderNormalize

/// Compares splitting and rebuilding with orjson, and the stored bytes with the body.
///
///     swift run -c release larder-normalize [ROUNDS]
///
/// The peer reads and writes the same bytes in the same run. It is orjson, or Python's json if
/// orjson is not installed; the output names it. The figures are medians of processor time. Compare
/// the ratios of one run, not the figures of two machines.
@main
struct NormalizeBenchmark {
    let rules = EntityRules(NormalizeRules(byType: .standard))

    static func main() async throws {
        let rounds = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 21
        let benchmark = NormalizeBenchmark()
        for repeats in [1, 20] {
            try await benchmark.run(Feed(authorRepeats: repeats), rounds: rounds)
        }
    }

    private func run(_ feed: Feed, rounds: Int) async throws {
        print("feed of \(feed.body.count) bytes, each author \(feed.authorRepeats) times")
        let peer = try peer(feed.body, rounds: rounds)
        print("  \(peer.name) loads + dumps: \(text(peer.milliseconds)) ms")
        let stored = Stored(feed.body, rules)
        func measure(_ name: String, _ body: () async throws -> Void) async rethrows {
            let time = try await median(rounds, body)
            print("  \(name): \(text(time)) ms, \(text(time / peer.milliseconds)) x")
        }
        await measure("splitting") { _ = Stored.split(feed.body, rules) }
        await measure("splitting and merging into nothing") { _ = Stored(feed.body, rules) }
        await measure("splitting and merging into what is there") {
            _ = Stored(feed.body, rules, over: stored.entities)
        }
        let skeleton = try Skeleton(stored.skeleton)
        try await measure("rebuilding") {
            let answer = try stored.rebuilt(skeleton, rules)
            guard answer.bytes == feed.body else { fatalError("it is not what came") }
        }
        let store = try FeedStore(rules)
        try await store.put(feed.body)
        try await measure("splitting and storing into a store that has it") {
            try await store.put(feed.body)
        }
        try await measure("rebuilding from the store") {
            guard try store.read() == feed.body else { fatalError("it is not what came") }
        }
        try await store.close()
        stored.printSizes(of: feed.body)
    }

    private func text(_ number: Double) -> String { String(format: "%.2f", number) }

    /// The median of the processor times that `body` takes, in milliseconds.
    private func median(
        _ rounds: Int,
        _ body: () async throws -> Void
    ) async rethrows -> Double {
        var times: [Double] = []
        for _ in 0..<rounds {
            let start = Self.processorTime
            try await body()
            times.append((Self.processorTime - start) * 1_000)
        }
        return times.sorted()[rounds / 2]
    }

    /// In seconds.
    private static var processorTime: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private func peer(
        _ body: [UInt8],
        rounds: Int
    ) throws -> (name: String, milliseconds: Double) {
        let file = FileManager.default.temporaryDirectory
            .appendingPathComponent("larder-feed-\(ProcessInfo.processInfo.processIdentifier)")
        try Data(body).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let script = """
            import sys, time
            try: import orjson as json
            except ImportError: import json
            body = open(sys.argv[1], 'rb').read()
            times = []
            for _ in range(int(sys.argv[2])):
                start = time.process_time()
                json.dumps(json.loads(body))
                times.append(time.process_time() - start)
            print(json.__name__, sorted(times)[len(times) // 2] * 1000)
            """
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", "-c", script, file.path, String(rounds)]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let words = String(decoding: bytes, as: UTF8.self).split(separator: " ")
        guard words.count == 2, let time = Double(words[1].dropLast()) else {
            throw CocoaError(.executableLoad)
        }
        return (String(words[0]), time)
    }
}
