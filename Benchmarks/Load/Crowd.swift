import ArgumentParser
import Glibc

/// Compares the events that many connections receive with the changes that were made.
///
/// The connections watch many ids, while so many steps a second change them. The origin must answer
/// `pages/N` under its base URL with the output of ``CrowdPlan/page(_:)``.
struct Crowd: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "crowd",
        abstract: "Has many watch while much changes, and counts what they were told.",
        discussion: """
            Prints what was due, told, lost and doubled, how long the steps took, and the memory \
            of the daemon. The status is 1 when something was lost or doubled.
            """
    )

    @Option(help: "The path of the socket.")
    var socket: String

    @Option(help: "The process of the daemon, whose memory is told.")
    var pid: Int32

    @Option(help: "The name of an origin with the rules of `by_type: true`.")
    var origin: String

    @Option(help: "Its base URL.")
    var base: String

    @Option(help: "How many connections watch.")
    var connections = 200

    @Option(help: "How many ids they watch together.")
    var ids = 10_000

    @Option(help: "Steps a second.")
    var rate = 2_000

    @Option(help: "For how long.")
    var seconds = 60

    @Option(help: "How many connections write.")
    var writers = 4

    func validate() throws {
        guard connections >= 1, rate >= 1, seconds >= 1, writers >= 1,
            ids >= CrowdPlan.entitiesAndPages + CrowdPlan.hot
        else { throw ValidationError("There is at least one of each, and 1,000 ids.") }
    }

    func run() throws {
        let plan = CrowdPlan(ids: ids, connections: connections, origin: origin, base: base)
        try plan.publish(at: socket)
        let memory = Memory(pid)
        let empty = memory.now
        let readers = try CrowdReader(plan, socket)
        let reading = readers.start()
        memory.note()
        let begun = ContinuousClock.now
        var writing: [CrowdWriter] = []
        for number in 0..<writers {
            let steps = (number, of: writers)
            writing.append(
                try CrowdWriter(plan, socket, steps, rate: rate, steps: rate * seconds)
            )
        }
        let threads = writing.map { $0.start() }
        for _ in 0..<seconds {
            sleep(1)
            memory.note()
        }
        for thread in threads { pthread_join(thread, nil) }
        let elapsed = (ContinuousClock.now - begun) / .seconds(1)
        let done = try writing.map { try $0.done() }.reduce(into: CrowdDone()) { $0.add($1) }
        try plan.putLast(at: socket)
        pthread_join(reading, nil)
        memory.note()
        let told = try readers.result()
        let verdict = CrowdVerdict(plan, done, told)
        print("\(connections) connections, \(ids) ids, \(done.steps) steps in", terminator: " ")
        print("\((elapsed * 10).rounded() / 10) s: \(Int(Double(done.steps) / elapsed))/s")
        print("an answer took \(done.median) µs in the median, at most \(done.longest) µs")
        print(
            "events due \(verdict.due), told \(verdict.told) in \(told.frames) frames,",
            terminator: " "
        )
        print("lost \(verdict.lost), doubled \(verdict.doubled), lagged \(told.lagged)")
        print("memory of the daemon, KiB: \(empty) before the watches,", terminator: " ")
        print("then each \(memory.interval) s: \(memory.course)")
        if verdict.lost + verdict.doubled > 0 { throw ExitCode.failure }
    }
}

/// The course of a process's resident memory.
private final class Memory {
    private let path: String
    private var notes: [Int] = []

    init(_ pid: Int32) {
        path = "/proc/\(pid)/status"
    }

    /// In KiB; 0 if the process has ended.
    var now: Int {
        guard let file = fopen(path, "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, 256, file) != nil {
            let words = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)
                .split { $0 == " " || $0 == "\t" }
            if words.first == "VmRSS:", words.count > 1 { return Int(words[1]) ?? 0 }
        }
        return 0
    }

    func note() { notes.append(now) }

    /// The seconds between two printed values.
    var interval: Int { max(1, (notes.count - 2) / 12) }

    var course: String {
        notes.indices.filter { $0 % interval == 0 || $0 == notes.count - 1 }
            .map { String(notes[$0]) }.joined(separator: " ")
    }
}
