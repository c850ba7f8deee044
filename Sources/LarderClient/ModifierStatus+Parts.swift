public import FoundationEssentials
import LarderModel
import LarderWire

extension ModifierStatus {
    /// How it stands with a modifier.
    public enum State: String, Sendable, CaseIterable {
        /// It is kept back, to be cancelled if somebody wants to.
        case held
        /// It is sent when it is its turn.
        case queued
        /// It is being sent.
        case inFlight = "in_flight"
        /// The server has done it.
        case confirmed
        /// The server has taken it, and did not say yet what came of it (202).
        case accepted
        /// It was not done, and is tried again.
        case retryWait = "retry_wait"
        /// It may have reached the server, which gave no clear answer.
        case unknown
        /// It waits for a decision.
        case conflict
        /// The server wants a credential, or another one.
        case authWait = "auth_wait"
        /// It failed for good, and is kept so that somebody can look at it.
        case dead
        /// It was taken back before it was sent.
        case cancelled

        /// Whether it has left the queue.
        public var isSettled: Bool { wire.isSettled }
    }

    /// Why a modifier was settled without being confirmed.
    public enum Reason: String, Sendable, CaseIterable {
        /// As many attempts as it was allowed were in vain.
        case attempts
        /// It was to be sent before a moment that has passed.
        case expired
        /// The server refused it.
        case refused
        /// One that it depends on was not confirmed.
        case parentFailed = "parent-failed"
        /// A part of it can be read by a later version only, or not at all.
        case unreadable
        /// It was given up after bytes of it may have left.
        case discarded
        /// It was taken back before it was sent.
        case cancelled
    }

    /// What is true of a modifier beside its state.
    public enum Mark: String, Sendable, CaseIterable {
        /// A lane of it is paused.
        case paused
        /// So many attempts were in vain that somebody should look.
        case stalled
        /// A change of it does not fit what is there, and does not show.
        case inapplicable
        /// The server has confirmed it; what all users of its origin see does not show it yet.
        case answered
    }

    /// Why a modifier is not sent now.
    public struct Wait: Equatable, Sendable {
        /// Such as `lane` or `backoff`.
        public let reason: String
        /// The lane, the modifier or the origin that it waits for.
        public let name: String?
        /// Until when, where that is known.
        public let until: Date?

        init(_ wait: ModifierReport.Wait) {
            reason = wait.reason
            name = wait.name
            until = wait.until.map { Date($0) }
        }
    }

    /// What the server answered.
    public struct Answer: Equatable, Sendable {
        /// The status.
        public let status: Int
        /// The beginning of the body.
        public let body: [UInt8]
        /// When it came.
        public let at: Date
        /// The status of the first answer that left open whether the modifier was applied.
        ///
        /// Nil where there was none. A refusal after it may be of a repeat alone.
        public let unclearStatus: Int?

        init(_ answer: ModifierReport.Answer) {
            unclearStatus = answer.unclearStatus
            status = answer.status
            body = answer.body
            at = Date(answer.at)
        }
    }

    /// What a target shows.
    public enum View: Equatable, Sendable {
        /// Nothing is known of it.
        case unknown
        /// That it is gone.
        case deleted
        /// A text of JSON, and whether all of it is known.
        case json([UInt8], isComplete: Bool)
        /// Other bytes, by their number.
        case bytes(Int)

        init(_ view: ViewReport) {
            switch view {
            case .unknown: self = .unknown
            case .deleted: self = .deleted
            case .json(let bytes, let isComplete): self = .json(bytes, isComplete: isComplete)
            case .bytes(let count): self = .bytes(count)
            }
        }
    }

    /// What one target shows without a modifier, which is what a revert restores, and with it.
    public struct Effect: Equatable, Sendable {
        /// The target's id, or an entity's key.
        public let target: String
        /// Whose entity it is; nil of an entry.
        public let origin: String?
        /// Without it.
        public let before: View
        /// With it.
        public let after: View

        init(_ effect: ModifierReport.Effect) {
            target = effect.target.spelling
            origin = effect.target.entity?.origin.text
            before = View(effect.before)
            after = View(effect.after)
        }
    }
}

extension ModifierStatus.State {
    package init(_ state: ModifierState) {
        switch state {
        case .held: self = .held
        case .queued: self = .queued
        case .inFlight: self = .inFlight
        case .confirmed: self = .confirmed
        case .accepted: self = .accepted
        case .retryWait: self = .retryWait
        case .unknown: self = .unknown
        case .conflict: self = .conflict
        case .authWait: self = .authWait
        case .dead: self = .dead
        case .cancelled: self = .cancelled
        }
    }

    var wire: ModifierState {
        switch self {
        case .held: .held
        case .queued: .queued
        case .inFlight: .inFlight
        case .confirmed: .confirmed
        case .accepted: .accepted
        case .retryWait: .retryWait
        case .unknown: .unknown
        case .conflict: .conflict
        case .authWait: .authWait
        case .dead: .dead
        case .cancelled: .cancelled
        }
    }
}

extension ModifierStatus.Reason {
    init(_ reason: ModifierReason) {
        switch reason {
        case .attempts: self = .attempts
        case .expired: self = .expired
        case .refused: self = .refused
        case .parentFailed: self = .parentFailed
        case .unreadable: self = .unreadable
        case .discarded: self = .discarded
        case .cancelled: self = .cancelled
        }
    }
}

extension ModifierStatus.Mark {
    init(_ mark: ModifierReport.Mark) {
        switch mark {
        case .paused: self = .paused
        case .stalled: self = .stalled
        case .inapplicable: self = .inapplicable
        case .answered: self = .answered
        }
    }
}
