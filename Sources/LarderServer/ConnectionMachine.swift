/// Decides when one connection answers each request, and when it ends.
///
/// # Terms
///
/// - *exchange*: one request and its answer. Exchanges go one after the other.
/// - *held*: input that waits for the end of the present answer (pipelining, RFC 9112 9.3.2): parts
///   of later requests, input that is not a request, the end of the client's input.
/// - *room*: what was written and not yet taken by the socket is below ``Limits/unsentBytesMax``.
/// - *last*: no request is taken after the present one.
///
/// # States
///
/// ```
///         headArrived,                answerCompleted(hasRoom: true)
///         parsingFailed
///    idle ─────────────► exchanging ─────────────────────────────► idle, with what is held first
///     ▲ │                 │      │ answerCompleted(hasRoom: false)
///     │ │                 │      └──────► unread ─┐
///     │ │ drainBegan (*), │ answerCompleted,      │ roomMade
///     │ │ inputEnded,     │ when it was the last  │
///     │ │ hungUp          │ one; hungUp           │
///     │ └────► closed ◄───┴───────────────────────│── drainBegan, hungUp
///     └───────────────────────────────────────────┘
/// ```
///
/// (*) Before the first request a connection stays idle for a while after the drain began.
///
/// # Invariants (``checkInvariants()``)
///
/// 1. One exchange at a time: a head begins one only in `idle`.
/// 2. The parts of a request go to its own exchange: none is delivered once the request is whole.
/// 3. An answer that begins before the end of its request is the connection's last.
/// 4. An exchange begins only where there is room: the connection leaves `idle` only with room.
///    So at most the bound and one answer wait for a client that does not read.
/// 5. Input before unreadable input, or before the client's end, is answered first.
/// 6. `closed` is the end.
struct ConnectionMachine: Equatable {
    enum State: Equatable {
        case idle
        case exchanging(isRequestWhole: Bool)
        /// The client has yet to read of what it was answered.
        case unread
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
        case .exchanging: return self.isLast ? .drop : .hold
        case .unread: return .hold
        case .closed: return .drop
        }
    }

    enum PartAction: Equatable {
        case deliver
        case hold
        case drop
    }

    mutating func bodyArrived() -> PartAction {
        switch state {
        case .exchanging(isRequestWhole: false): .deliver
        case .exchanging(isRequestWhole: true): isLast ? .drop : .hold
        case .unread: .hold
        case .idle, .closed: .drop
        }
    }

    mutating func endArrived() -> PartAction {
        defer { checkInvariants() }
        switch state {
        case .exchanging(isRequestWhole: false):
            state = .exchanging(isRequestWhole: true)
            return .deliver
        case .exchanging(isRequestWhole: true): return isLast ? .drop : .hold
        case .unread: return .hold
        case .idle, .closed: return .drop
        }
    }

    /// Whether anything that the client sends from now on is of use.
    var wantsMore: Bool {
        !isLast || state != .exchanging(isRequestWhole: true)
    }

    /// Whether what is held first would not just be held again.
    var takesHeld: Bool {
        switch state {
        case .idle: true
        case .exchanging(let isRequestWhole): !isRequestWhole
        case .unread, .closed: false
        }
    }

    /// The head of the answer is about to be written; true if it is to say that the connection ends
    /// with this answer.
    mutating func answerBegan() -> Bool {
        defer { checkInvariants() }
        if state == .exchanging(isRequestWhole: false) { isLast = true }
        return isLast
    }

    enum AnswerAction: Equatable {
        /// Take up what is held, then wait for the next request.
        case goOn
        /// Take up nothing until there is room.
        case waitForRoom
        case close
        /// Sends no more, and drops the rest of the request until the client has read the answer.
        ///
        /// An immediate close could lose the answer (RFC 9112 9.6).
        case closeInStages
        case nothing
    }

    /// The answer's last byte was handed to the socket; `hasRoom` says whether it took enough.
    mutating func answerCompleted(hasRoom: Bool) -> AnswerAction {
        defer { checkInvariants() }
        switch state {
        case .exchanging(let isRequestWhole):
            answered += 1
            guard isLast || !isRequestWhole else {
                state = hasRoom ? .idle : .unread
                return hasRoom ? .goOn : .waitForRoom
            }
            state = .closed
            isLast = true
            return isRequestWhole ? .close : .closeInStages
        case .idle, .unread, .closed:
            return .nothing
        }
    }

    /// The client has read so much that what was written and not taken is below its bound; true if
    /// the connection is to take up what is held, then wait for the next request.
    mutating func roomMade() -> Bool {
        defer { checkInvariants() }
        guard state == .unread else { return false }
        state = .idle
        return true
    }

    enum DrainAction: Equatable {
        case close
        /// Call ``drainBegan(hasWaited:)`` again after ``Limits/firstRequestTime``.
        case waitForFirstRequest
        case nothing
    }

    /// The daemon is ending: what runs is still answered.
    ///
    /// A client that has just connected sends its first request without knowing of the end. An
    /// immediate close would be a failure for which the client does not repeat the request. HTTP
    /// clients repeat one only on a connection that was used before (RFC 9112 9.3.1). `hasWaited`
    /// says that the client has had its time.
    mutating func drainBegan(hasWaited: Bool) -> DrainAction {
        defer { checkInvariants() }
        isLast = true
        switch state {
        case .idle where begun == 0 && !hasWaited:
            return .waitForFirstRequest
        case .idle, .unread:
            state = .closed
            return .close
        case .exchanging, .closed:
            return .nothing
        }
    }

    enum RefusalAction: Equatable {
        case refuse
        /// The rest of the request's body never comes.
        case breakOff
        case hold
        case nothing
    }

    /// The parser refused the input: it is not HTTP, or too large.
    mutating func parsingFailed() -> RefusalAction {
        defer { checkInvariants() }
        switch state {
        case .idle:
            isLast = true
            begun += 1
            state = .exchanging(isRequestWhole: false)
            return .refuse
        case .exchanging(isRequestWhole: false):
            isLast = true
            return .breakOff
        // The present request came before the refused input and is still valid.
        case .exchanging(isRequestWhole: true): return isLast ? .nothing : .hold
        case .unread: return .hold
        case .closed: return .nothing
        }
    }

    enum InputEndAction: Equatable {
        case close
        /// The rest of the request's body never comes.
        case breakOff
        case hold
        case nothing
    }

    /// The client sends no more; it may go on to read (RFC 9112 9.6).
    mutating func inputEnded() -> InputEndAction {
        defer { checkInvariants() }
        switch state {
        case .idle:
            state = .closed
            isLast = true
            return .close
        // The last answer ends the connection anyway.
        case .exchanging where isLast: return .nothing
        case .exchanging(isRequestWhole: false):
            isLast = true
            return .breakOff
        case .exchanging(isRequestWhole: true), .unread: return .hold
        case .closed: return .nothing
        }
    }

    mutating func hungUp() {
        defer { checkInvariants() }
        state = .closed
        isLast = true
    }
}

extension ConnectionMachine {
    /// Holds the numbered invariants of the type's documentation; called after each change.
    func checkInvariants() {
        switch state {
        case .idle, .unread:
            // 1, 3, 4
            assert(begun == answered, "every exchange was answered")
            assert(!isLast || begun == 0, "nothing follows the last exchange")
        case .exchanging:
            // 1
            assert(begun == answered + 1, "one exchange at a time")
        case .closed:
            // 6
            assert(begun - answered <= 1, "at most one exchange was cut off")
            assert(isLast, "nothing follows")
        }
    }
}
