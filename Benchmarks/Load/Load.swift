import ArgumentParser
import Glibc
import Synchronization

/// Asks a server on a Unix socket as fast as it answers, with a new request each time.
///
/// h2load gives every connection the same list of requests. That does not work if each request
/// needs a target of its own, for example for modifiers. Every connection is a thread that sends a
/// request and waits for its answer.
struct Load: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "requests",
        abstract: "Sends numbered requests over a Unix socket and prints how many were answered.",
        discussion: """
            {n} in the path and in the body stands for the request's number. Prints one line: \
            requests a second, then the median, the 99th percentile and the longest time to an \
            answer in microseconds.
            """
    )

    @Option(help: "The path of the socket.")
    var socket: String

    @Option(help: "How many connections there are.")
    var connections = 1

    @Option(help: "How many requests there are, over all connections.")
    var requests: Int

    @Option(help: "The first request's number.")
    var first = 0

    @Option(help: "The method.")
    var method = "GET"

    @Option(help: "The request's path.")
    var path: String

    @Option(help: "A header line; may be repeated.")
    var header: [String] = []

    @Option(help: "A body; none without it.")
    var body: String?

    @Option(help: "The status that each answer must have.")
    var expect = 200

    func validate() throws {
        guard connections >= 1, requests >= 1 else {
            throw ValidationError("There is at least one connection and one request.")
        }
    }

    func run() throws {
        let progress = Progress(next: first, end: first + requests)
        let template = RequestTemplate(
            method: method,
            path: path,
            headers: header,
            body: body.map { Array($0.utf8) }
        )
        let start = ContinuousClock.now
        var threads: [pthread_t] = []
        for _ in 0..<connections {
            let worker = Worker(try Connection(socket), template, progress, expect)
            threads.append(worker.start())
        }
        for thread in threads { pthread_join(thread, nil) }
        let elapsed = ContinuousClock.now - start
        let times = try progress.result().sorted()
        let perSecond = Double(times.count) / (elapsed / .seconds(1))
        let last = times.count - 1
        print(Int(perSecond), times[last / 2], times[last * 99 / 100], times[last])
    }
}

/// The state that the connections share.
final class Progress: Sendable {
    private let next: Atomic<Int>
    private let end: Int
    private let outcome = Mutex((microseconds: [Int](), failure: LoadFailure?.none))

    init(next: Int, end: Int) {
        self.next = Atomic(next)
        self.end = end
    }

    /// The number of the next request; nil if there are no more.
    func take() -> Int? {
        let number = next.wrappingAdd(1, ordering: .relaxed).oldValue
        return number < end ? number : nil
    }

    func finished(_ microseconds: [Int]) {
        outcome.withLock { $0.microseconds += microseconds }
    }

    func failed(_ failure: LoadFailure) {
        outcome.withLock { $0.failure = failure }
        next.store(end, ordering: .relaxed)
    }

    /// The time of each request, in microseconds.
    func result() throws(LoadFailure) -> [Int] {
        let (microseconds, failure) = outcome.withLock { $0 }
        if let failure { throw failure }
        return microseconds
    }
}

/// A connection's thread.
final class Worker: Sendable {
    private let connection: Connection
    private let template: RequestTemplate
    private let progress: Progress
    private let status: Int

    init(
        _ connection: Connection,
        _ template: RequestTemplate,
        _ progress: Progress,
        _ status: Int
    ) {
        self.connection = connection
        self.template = template
        self.progress = progress
        self.status = status
    }

    func start() -> pthread_t { startThread { [self] in run() } }

    private func run() {
        var microseconds: [Int] = []
        var buffer = AnswerBuffer()
        while let number = progress.take() {
            let start = ContinuousClock.now
            do throws(LoadFailure) {
                try connection.send(template.bytes(number))
                let answered = try connection.receive(&buffer)
                guard answered == status else { throw .status(answered) }
            } catch {
                progress.failed(error)
                return
            }
            microseconds.append(Int((ContinuousClock.now - start) / .microseconds(1)))
        }
        progress.finished(microseconds)
    }
}
