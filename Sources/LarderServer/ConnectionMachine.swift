/// One connection: decides which request is answered when, and when the connection ends.
///
/// # Terms
///
/// - *exchange*: one request and its answer. Exchanges go one after the other.
/// - *held*: parts of later requests (pipelining, RFC 9112 9.3.2) wait for the answer's end.
/// - *last*: no request is taken after the present one.
///
/// # States
///
/// ```
///           headArrived,                     answerCompleted
///           parsingFailed
///    idle ───────────────► exchanging ───────────────────────► idle, with held parts first
///     │                        │  answerCompleted, when it was the last one; hungUp
///     │ drainBegan, hungUp     │
///     └──────────► closed ◄────┘
/// ```
///
/// # Invariants (``checkInvariants()``)
///
/// 1. One exchange at a time: a head begins one only in `idle`.
/// 2. The parts of a request go to its own exchange: none is delivered once the request is whole.
/// 3. An answer that begins before the end of its request is the connection's last.
/// 4. `closed` is the end.
struct ConnectionMachine: Equatable {
    enum State: Equatable {
        case idle
        case exchanging(isRequestWhole: Bool)
        case closed
    }

    private(set) var state = State.idle
    /// Whether no further request is taken.
    private(set) var isLast = false
    /// For the invariants: exchanges begun and answered.
    private(set) var begun = 0
    private(set) var answered = 0

    enum HeadAction: Equatable {
        case begin
        case hold
        case drop
    }

    /// A request's head; `isLast` when the client wants no further one after it.
    mutating func headArrived(isLast: Bool) -> HeadAction {
        defer { checkInvariants() }
        switch state {
        case .idle:
            state = .exchanging(isRequestWhole: false)
            begun += 1
            if isLast { self.isLast = true }
            return .begin
        case .exchanging:
            return self.isLast ? .drop : .hold
        case .closed:
            return .drop
        }
    }

    enum PartAction: Equatable {
        case deliver
        case hold
        case drop
    }

    /// A piece of a request's body.
    mutating func bodyArrived() -> PartAction {
        switch state {
        case .exchanging(isRequestWhole: false): .deliver
        case .exchanging(isRequestWhole: true): isLast ? .drop : .hold
        case .idle, .closed: .drop
        }
    }

    /// The end of a request.
    mutating func endArrived() -> PartAction {
        defer { checkInvariants() }
        switch state {
        case .exchanging(isRequestWhole: false):
            state = .exchanging(isRequestWhole: true)
            return .deliver
        case .exchanging(isRequestWhole: true): return isLast ? .drop : .hold
        case .idle, .closed: return .drop
        }
    }

    /// Whether anything that the client sends from now on is of use.
    var wantsMore: Bool {
        !isLast || state != .exchanging(isRequestWhole: true)
    }

    enum AnswerHeadAction: Equatable {
        /// Say in the head that the connection ends with this answer.
        case announceClose
        case nothing
    }

    /// The head of the answer is about to be written.
    mutating func answerBegan() -> AnswerHeadAction {
        defer { checkInvariants() }
        if state == .exchanging(isRequestWhole: false) { isLast = true }
        return isLast ? .announceClose : .nothing
    }

    enum AnswerAction: Equatable {
        /// Take up what is held, then wait for the next request.
        case goOn
        case close
        /// Say no more, and drop what the client still sends of its request until it has read the
        /// answer: closed at once, it could lose it (RFC 9112 9.6).
        case closeInStages
        case nothing
    }

    /// The answer's last byte was handed to the socket.
    mutating func answerCompleted() -> AnswerAction {
        defer { checkInvariants() }
        switch state {
        case .exchanging(let isRequestWhole):
            answered += 1
            guard isLast || !isRequestWhole else {
                state = .idle
                return .goOn
            }
            state = .closed
            isLast = true
            return isRequestWhole ? .close : .closeInStages
        case .idle, .closed:
            return .nothing
        }
    }

    enum DrainAction: Equatable {
        case close
        case nothing
    }

    /// The daemon is ending: what runs is still answered.
    mutating func drainBegan() -> DrainAction {
        defer { checkInvariants() }
        isLast = true
        switch state {
        case .idle:
            state = .closed
            return .close
        case .exchanging, .closed:
            return .nothing
        }
    }

    enum RefusalAction: Equatable {
        /// Answer with a problem.
        case refuse
        /// The rest of the request's body never comes.
        case breakOff
        case nothing
    }

    /// What came is no HTTP, or too much of it.
    mutating func parsingFailed() -> RefusalAction {
        defer { checkInvariants() }
        isLast = true
        switch state {
        case .idle:
            begun += 1
            state = .exchanging(isRequestWhole: false)
            return .refuse
        case .exchanging(isRequestWhole: false):
            return .breakOff
        // The present answer is still good; what follows it is dropped.
        case .exchanging(isRequestWhole: true), .closed:
            return .nothing
        }
    }

    /// The client has closed its end.
    mutating func hungUp() {
        defer { checkInvariants() }
        state = .closed
        isLast = true
    }
}
