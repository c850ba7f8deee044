import LarderAPI
import LarderModel
import NIOCore
import NIOHTTP1
import Synchronization

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
    private typealias Entry = (eventLoop: any EventLoop, meter: NIOLoopBoundBox<LoopMeter>)

    private let entries = Mutex<[Entry]>([])

    func makeMeter(_ eventLoop: any EventLoop) -> LoopMeter {
        let meter = LoopMeter()
        let bound = NIOLoopBoundBox(meter, eventLoop: eventLoop)
        entries.withLock { $0.append((eventLoop, bound)) }
        return meter
    }

    func sum() async throws -> LoopCounts {
        var sum = LoopCounts()
        for entry in entries.withLock({ $0 }) {
            sum.add(try await entry.eventLoop.submit { entry.meter.value.counts }.get())
        }
        return sum
    }
}
