import LarderModel
import LarderUpstream
import Synchronization

/// An origin whose answers a simulation gives, one by one, whenever it likes.
final class SimulatedOrigin: Upstream {
    /// A request that waits for its answer.
    struct Request: Sendable {
        let number: Int
        let request: UpstreamRequest
        /// What the server was when it set out.
        let departed: SimulatedServer
        /// The last input of the simulation before it set out, and the last one before that whose
        /// consequences were all drawn.
        let moment: (input: Int, quiet: Int)
        /// Nobody could be reached.
        let isTurnedAway: Bool

        var path: String { String(request.url.path) }
        var key: String { request.headers["Idempotency-Key"] ?? "" }
        /// A write request as a server reads it; nil for a POST whose body names no change.
        var plain: PlainRequest? {
            PlainRequest(
                request.method,
                type: request.headers["Content-Type"],
                body: request.body ?? []
            )
        }
        /// Whose write it is.
        var modifier: String { String(key.prefix { $0 != "." }) }
        var kind: Kind {
            guard request.method == "GET" else { return .write }
            guard path != "/" else { return .probe }
            return request.purpose == .write ? .check : .read
        }

        enum Kind {
            case read
            case write
            /// A modifier's own read of its target, after a 412.
            case check
            /// A read of the base URL that shows whether a captive origin is back (case 25).
            case probe
        }
    }

    struct Reply: Sendable {
        var status: Int
        var headers: [String: String] = [:]
        var body = ""
    }

    private typealias Outcome = Result<Reply, UpstreamError>
    private typealias Waiter = CheckedContinuation<Outcome, Never>

    private struct State {
        var server: SimulatedServer
        var waiting: [Int: (request: Request, waiter: Waiter)] = [:]
        var asked: [Request] = []
        var count = 0
        var moment = (input: 0, quiet: 0)
        var isOffline = false
        var isGone = false
    }

    private let state: Mutex<State>

    init(_ server: SimulatedServer) {
        state = Mutex(State(server: server))
    }

    // MARK: What the simulation does

    var server: SimulatedServer {
        get { state.withLock { $0.server } }
        set { state.withLock { $0.server = newValue } }
    }

    var isOffline: Bool {
        get { state.withLock { $0.isOffline } }
        set { state.withLock { $0.isOffline = newValue } }
    }

    /// Where the simulation is, for the requests that set out from now on.
    func mark(input: Int, quiet: Int) {
        state.withLock { $0.moment = (input, quiet) }
    }

    /// The requests that wait, in the order of their setting out.
    var waiting: [Request] {
        state.withLock { $0.waiting.values.map(\.request).sorted { $0.number < $1.number } }
    }

    /// The requests that have set out since this was asked last.
    func takeAsked() -> [Request] {
        state.withLock { state in
            defer { state.asked = [] }
            return state.asked
        }
    }

    func answer(_ number: Int, _ outcome: Result<Reply, UpstreamError>) {
        let waiter = state.withLock { $0.waiting.removeValue(forKey: number)?.waiter }
        waiter?.resume(returning: outcome)
    }

    /// Whoever asked is no more: what waits hears that it was given up, and so does what comes.
    func forgetEverybody() {
        let waiters = state.withLock { state in
            state.isGone = true
            defer { state.waiting = [:] }
            return state.waiting.sorted { $0.key < $1.key }.map(\.value.waiter)
        }
        for waiter in waiters { waiter.resume(returning: .failure(.cancelled)) }
    }

    /// Somebody else asks from now on.
    func welcome() {
        state.withLock { state in
            state.isGone = false
            state.asked = []
        }
    }

    // MARK: Upstream

    func ask(
        _ request: UpstreamRequest,
        onSent: @escaping @Sendable () -> Void
    ) async throws(UpstreamError) -> UpstreamReply {
        let number = state.withLock { state in
            state.count += 1
            return state.count
        }
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { self.depart(number, request, onSent, $0) }
        } onCancel: {
            self.answer(number, .failure(.cancelled))
        }
        let reply = try outcome.get()
        let fields = reply.headers.sorted { $0.key < $1.key }
            .map { HeaderFields.Field(name: $0.key, value: $0.value) }
        let pieces = Mutex(reply.body.isEmpty ? [] : [Array(reply.body.utf8)])
        let body = UpstreamBody { () throws(UpstreamError) in pieces.withLock { $0.popLast() } }
        return UpstreamReply(status: reply.status, headers: HeaderFields(fields), body: body)
    }

    private func depart(
        _ number: Int,
        _ request: UpstreamRequest,
        _ onSent: () -> Void,
        _ waiter: Waiter
    ) {
        let refusal: UpstreamError? = state.withLock { state in
            guard !state.isGone else { return .cancelled }
            let asked = Request(
                number: number,
                request: request,
                departed: state.server,
                moment: state.moment,
                isTurnedAway: state.isOffline
            )
            state.asked.append(asked)
            if state.isOffline {
                return .unreachable(host: request.url.host, reason: "the network is away")
            }
            state.waiting[number] = (asked, waiter)
            return nil
        }
        if let refusal { return waiter.resume(returning: .failure(refusal)) }
        onSent()
        // It may have been given up before it could be.
        if Task.isCancelled { answer(number, .failure(.cancelled)) }
    }

    func check(_ request: UpstreamRequest) async -> UpstreamCheck {
        UpstreamCheck(connection: nil, outcome: .failed(.cancelled))
    }
}
