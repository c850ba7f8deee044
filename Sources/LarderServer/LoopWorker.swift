import DequeModule
import Dispatch
import Glibc
import LarderAPI
import LarderEngine
import LarderModel
import LarderStore
import LarderWire
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// Runs the longer answers of one event loop, on that loop, with a reader of its own.
actor LoopWorker {
    /// To be preferred by the tasks that the answers run in.
    nonisolated let executor: LoopExecutor
    /// Answers that take longer than a turn of the loop; every connection has at most one.
    nonisolated let jobs = WorkQueue()
    private let eventLoop: any EventLoop
    private let server: ServerContext
    private var opened: LoopReader?

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    init(_ eventLoop: any EventLoop, _ server: ServerContext) {
        self.eventLoop = eventLoop
        self.server = server
        executor = LoopExecutor(eventLoop)
    }

    func answer(_ match: RouteMatch, _ exchange: Exchange) async {
        await answer(exchange) { (loop) throws(Problem) in try await match.answer(exchange, loop) }
    }

    func read(_ id: EntryID, _ exchange: Exchange) async {
        await answer(exchange) { (loop) throws(Problem) in
            try await EntryRoutes(exchange: exchange, loop: loop).read(id)
        }
    }

    private func answer(
        _ exchange: Exchange,
        _ handler: (LoopReader) async throws(Problem) -> Void
    ) async {
        let loop: LoopReader
        do throws(StoreError) {
            loop = try reader()
        } catch {
            return await exchange.respond(Problem(error))
        }
        do throws(Problem) {
            try await handler(loop)
        } catch {
            await exchange.respond(error)
        }
    }

    private func reader() throws(StoreError) -> LoopReader {
        if let opened { return opened }
        let loop = LoopReader(try server.engine.store.makeReader(), eventLoop)
        opened = loop
        return loop
    }
}

/// An event loop as the executor of actors and of tasks.
///
/// A task that prefers this executor (SE-0417) resumes on its loop directly from a writer's thread,
/// without a hop through the pool. The task moves between actors of the loop on the same thread.
final class LoopExecutor: TaskExecutor, SerialExecutor {
    private let eventLoop: any EventLoop

    init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        eventLoop.execute {
            job.runSynchronously(
                isolatedTo: self.asUnownedSerialExecutor(),
                taskExecutor: self.asUnownedTaskExecutor()
            )
        }
    }

    func checkIsolated() {
        eventLoop.preconditionInEventLoop()
    }
}

/// The reader of one event loop with what its connections share, used on that loop only.
final class LoopReader {
    let reader: StoreReader
    private var scopes: [Scope: ScopeKey] = [:]
    private var date = (second: Int64.min, text: "")

    init(_ reader: StoreReader, _ eventLoop: any EventLoop) {
        self.reader = reader
        endTransactions(afterTurnsOf: eventLoop)
    }

    /// A scope's key, hashed once as long as there are few of them.
    func key(for scope: Scope) -> ScopeKey {
        if let key = scopes[scope] { return key }
        if scopes.count >= Limits.connectionsMax { scopes.removeAll() }
        let key = reader.key(for: scope)
        scopes[scope] = key
        return key
    }

    /// The Date header (RFC 9110 6.6.1), printed once a second.
    func date(at now: Timestamp) -> String {
        let second = now.milliseconds / 1_000
        if date.second != second { date = (second, now.httpDate) }
        return date.text
    }

    /// Whenever the reader opens a transaction, it is ended when the loop has dealt with what was
    /// ready, before the loop waits again.
    private func endTransactions(afterTurnsOf eventLoop: any EventLoop) {
        let bound = NIOLoopBound(WeakReader(reader: reader), eventLoop: eventLoop)
        reader.transactionOpened = {
            eventLoop.assertInEventLoop()
            eventLoop.execute { bound.value.reader?.endTransaction() }
        }
    }

    private struct WeakReader {
        weak var reader: StoreReader?
    }
}

/// State that the connections of one event loop share; only that loop uses it.
struct ServerLoop {
    let reader: LoopReader
    let worker: LoopWorker
    let ready: ResponseCache
    let meter: LoopMeter
    let spin: LoopSpin
}

/// Keeps an event loop awake for a moment after it has answered its only active client.
///
/// The next request of such a client is often on its way. To wake a sleeping processor takes longer
/// than to answer a hit. Meanwhile a byte goes round in a pipe, whose handler this is. So the loop
/// finds something whenever it looks at its sockets. With two clients there is nothing to gain:
/// after one's answer, the loop finds the other's request. Only that loop uses the handler.
final class LoopSpin: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// That of the pipe; nil where no loop is to be kept awake.
    private var pipe: ChannelHandlerContext?
    /// The connection that the loop answered last.
    private var client: ObjectIdentifier?
    /// Time since which the loop has answered only `client`; nil until its second answer in a row.
    private var aloneSince: NIODeadline?
    /// Until when it is kept awake; nil while no byte is under way.
    private var end: NIODeadline?

    private let now: () -> NIODeadline

    private static let time = TimeAmount(Limits.spinTimeMax)
    private static let quietTime = TimeAmount(Limits.spinQuietTime)
    private static let byte = ByteBuffer(integer: 0 as UInt8)

    init(now: @escaping () -> NIODeadline = NIODeadline.now) {
        self.now = now
    }

    /// Opens a pipe for a loop's spin, which keeps the loop awake from then on.
    static func open(
        _ spin: NIOLoopBoundBox<ServerLoop>,
        on eventLoop: any EventLoop
    ) async throws -> any Channel {
        var ends: [Int32] = [0, 0]
        guard Glibc.pipe(&ends) == 0 else { throw IOError(errnoCode: errno, reason: "pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return try await NIOPipeBootstrap(group: eventLoop)
            .channelInitializer { pipe in
                pipe.eventLoop.makeCompletedFuture {
                    try pipe.pipeline.syncOperations.addHandler(spin.value.spin)
                }
            }
            .takingOwnershipOfDescriptors(input: ends[0], output: ends[1])
            .get()
    }

    func handlerAdded(context: ChannelHandlerContext) { pipe = context }

    func handlerRemoved(context: ChannelHandlerContext) { pipe = nil }

    /// A connection has been answered; the clock is looked at only where it was the last one, too.
    func answered(_ connection: ObjectIdentifier) {
        guard let pipe else { return }
        guard connection == client else {
            (client, aloneSince) = (connection, nil)
            return
        }
        let now = now()
        guard let since = aloneSince else {
            aloneSince = now
            return
        }
        guard now - since >= Self.quietTime else { return }
        if end == nil { send(pipe) }
        end = now + Self.time
    }

    /// The byte has gone round: once more, while the loop is to be kept awake.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let end, aloneSince != nil, now() < end else {
            self.end = nil
            return
        }
        send(context)
    }

    private func send(_ pipe: ChannelHandlerContext) {
        pipe.writeAndFlush(NIOAny(Self.byte), promise: nil)
    }
}

/// A few threads, where every task of the process runs that belongs to no event loop.
///
/// Once a task has run on libdispatch, libdispatch wakes up each second, permanently, to count its
/// threads. The threads here wake up only for tasks, one thread for each task. `NIOThreadPool`
/// would wake all of its threads. Tasks inherit the executor from the task that began them
/// (SE-0417). The executor lives as long as the process.
package final class ThreadPoolExecutor: TaskExecutor {
    private let jobs = Mutex(Deque<UnownedJob>())
    /// Counts the jobs.
    private let isThere = DispatchSemaphore(value: 0)
    private let threads: NIOThreadPool

    /// Starts a thread for each processor, at least two, so that a long task leaves one free.
    package init() {
        let count = max(2, System.coreCount)
        threads = NIOThreadPool(numberOfThreads: count)
        threads.start()
        for _ in 0..<count { threads.submit { _ in self.work() } }
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
        isThere.signal()
    }

    private func work() {
        while true {
            isThere.wait()
            jobs.withLock { $0.popFirst() }?.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}

/// Counters for the connections of one event loop.
///
/// Only that loop uses them, so that counting costs no lock and no shared memory.
final class LoopMeter {
    private(set) var counts = LoopCounts()

    func answered(_ family: RouteFamily, _ status: HTTPResponseStatus) {
        counts.requests[family.rawValue * LoopCounts.classCount + LoopCounts.classIndex(status)] +=
            1
    }

    /// A read was answered by bytes that were ready, so many of its body.
    func readyAnswered(_ bytes: Int) {
        counts.ready += 1
        answered(.read, .ok)
        sent(bytes)
    }

    /// A plain read was not answered by bytes that were ready, for one of the reasons.
    func readyMissed(_ reason: WritableKeyPath<ReadyAnswerStats, Int64>) {
        counts.readyAnswers[keyPath: reason] += 1
    }

    /// Records the bytes that ``ResponseCache`` keeps now.
    func readyKept(_ bytes: Int) { counts.readyAnswers.bytes = Int64(bytes) }

    func received(_ bytes: Int) { counts.received += Int64(bytes) }
    func sent(_ bytes: Int) { counts.sent += Int64(bytes) }

    /// Whether the read that is about to be answered is one to be timed.
    func wantsTime() -> Bool {
        defer { counts.reads += 1 }
        return counts.reads % Int64(Limits.hitsPerSample) == 0
    }

    func hitAnswered(after time: TimeAmount) { counts.hit.record(time.nanoseconds) }
    func putAnswered(after time: TimeAmount) { counts.put.record(time.nanoseconds) }
}

struct LoopCounts: Sendable {
    /// 2xx, 3xx, 4xx and 5xx.
    static let classCount = 4

    /// By family, and within it by the hundred of the status.
    fileprivate(set) var requests = [Int64](
        repeating: 0,
        count: RouteFamily.allCases.count * classCount
    )
    fileprivate(set) var ready: Int64 = 0
    fileprivate(set) var readyAnswers = ReadyAnswerStats()
    fileprivate(set) var received: Int64 = 0
    fileprivate(set) var sent: Int64 = 0
    /// Of an entry, whether they were timed or not.
    fileprivate(set) var reads: Int64 = 0
    fileprivate(set) var hit = Histogram()
    fileprivate(set) var put = Histogram()

    mutating func add(_ other: LoopCounts) {
        for index in requests.indices { requests[index] += other.requests[index] }
        ready += other.ready
        readyAnswers.missing += other.readyAnswers.missing
        readyAnswers.expired += other.readyAnswers.expired
        readyAnswers.stale += other.readyAnswers.stale
        readyAnswers.bytes += other.readyAnswers.bytes
        received += other.received
        sent += other.sent
        reads += other.reads
        hit.add(other.hit)
        put.add(other.put)
    }

    fileprivate static func classIndex(_ status: HTTPResponseStatus) -> Int {
        min(max(Int(status.code) / 100 - 2, 0), classCount - 1)
    }

    func fill(_ report: inout StatsReport) {
        report.lookups.ready = ready
        report.readyAnswers = readyAnswers
        report.bytes.received = received
        report.bytes.sent = sent
        report.latencies.hit = Latency(hit)
        report.latencies.hit.count = reads
        report.latencies.put = Latency(put)
        report.requests = RouteFamily.allCases.map { family in
            let first = family.rawValue * Self.classCount
            let counts = requests[first..<first + Self.classCount]
            return RequestStats(family: family.name, counts: counts)
        }
    }
}

/// The meters of all event loops.
///
/// Guarded by a lock; each meter is read on its own loop.
final class LoopMeters: Sendable {
    private let meters = Mutex<[NIOLoopBoundBox<LoopMeter>]>([])

    func makeMeter(_ eventLoop: any EventLoop) -> LoopMeter {
        let meter = LoopMeter()
        let bound = NIOLoopBoundBox(meter, eventLoop: eventLoop)
        meters.withLock { $0.append(bound) }
        return meter
    }

    func sum() async throws -> LoopCounts {
        var sum = LoopCounts()
        for meter in meters.withLock({ $0 }) {
            sum.add(try await meter.eventLoop.submit { meter.value.counts }.get())
        }
        return sum
    }
}
