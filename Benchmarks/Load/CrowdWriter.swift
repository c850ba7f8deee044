import Glibc
import Synchronization

/// The finished steps: the number of events of each thing, and the time of each answer.
struct CrowdDone: Sendable {
    var events: [Int: Int] = [:]
    var microseconds: [Int] = []
    var steps: Int { microseconds.count }
    var median: Int { microseconds.sorted()[microseconds.count / 2] }
    var longest: Int { microseconds.max() ?? 0 }

    mutating func add(_ other: CrowdDone) {
        events.merge(other.events, uniquingKeysWith: +)
        microseconds += other.microseconds
    }
}

/// A thread that changes things of its own, so many a second.
final class CrowdWriter: Sendable {
    private let plan: CrowdPlan
    private let connection: Connection
    private let number: Int
    private let writers: Int
    private let interval: Duration
    private let steps: Int
    private let outcome = Mutex(Result<CrowdDone, LoadFailure>.success(CrowdDone()))

    /// Makes writer `number.0` of `number.of`.
    ///
    /// Together the writers do `rate` steps a second, and `steps` in all.
    init(
        _ plan: CrowdPlan,
        _ socket: String,
        _ number: (Int, of: Int),
        rate: Int,
        steps: Int
    ) throws(LoadFailure) {
        self.plan = plan
        connection = try Connection(socket)
        (self.number, writers) = (number.0, number.of)
        interval = .seconds(1) * writers / rate
        self.steps = steps / writers
    }

    func start() -> pthread_t {
        startThread { [self] in
            let result: Result<CrowdDone, LoadFailure>
            do throws(LoadFailure) {
                result = .success(try run())
            } catch {
                result = .failure(error)
            }
            outcome.withLock { $0 = result }
        }
    }

    func done() throws(LoadFailure) -> CrowdDone { try outcome.withLock { $0 }.get() }

    private func run() throws(LoadFailure) -> CrowdDone {
        var done = CrowdDone()
        var buffer = AnswerBuffer()
        var there: Set<Int> = []
        var random = UInt64(number + 1)
        func draw(_ count: Int) -> Int {
            // Knuth's MMIX generator; its low bits are less random.
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(random >> 33) % count
        }
        /// Draws one of this writer's own things.
        func own(_ count: Int) -> Int { draw(count / writers) * writers + number }
        let begun = ContinuousClock.now
        for step in 0..<steps {
            let due = begun + interval * step
            let now = ContinuousClock.now
            if now < due { usleep(UInt32((due - now) / .microseconds(1))) }
            let request: [UInt8]
            switch draw(20) {
            case 0..<3:
                let author = own(CrowdPlan.authors)
                let body = #"{"type":"User","id":\#(author),"name":"\#(step)"}"#
                let path = "/v1/entries/\(plan.name(plan.author(author)))"
                request = CrowdPlan.request("PUT", path, body)
                for thing in [plan.author(author)] + plan.pages(of: author) {
                    done.events[thing, default: 0] += 1
                }
            case let kind:
                let blob = own(kind < 7 ? CrowdPlan.hot : plan.blobs)
                let isDeleted = kind == 19 && there.remove(blob) != nil
                if !isDeleted { there.insert(blob) }
                let path = "/v1/entries/\(plan.name(blob))"
                request = CrowdPlan.request(isDeleted ? "DELETE" : "PUT", path, "\(step)")
                done.events[blob, default: 0] += 1
            }
            let start = ContinuousClock.now
            try connection.send(request)
            let status = try connection.receive(&buffer)
            guard status == 201 || status == 204 else { throw .status(status) }
            done.microseconds.append(Int((ContinuousClock.now - start) / .microseconds(1)))
        }
        return done
    }
}

/// Runs a body on a thread of its own.
func startThread(_ body: @escaping @Sendable () -> Void) -> pthread_t {
    final class Box: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    var thread = pthread_t()
    let run: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { box in
        if let box { Unmanaged<Box>.fromOpaque(box).takeRetainedValue().body() }
        return nil
    }
    let code = pthread_create(&thread, nil, run, Unmanaged.passRetained(Box(body)).toOpaque())
    precondition(code == 0, "pthread_create: \(code)")
    return thread
}
